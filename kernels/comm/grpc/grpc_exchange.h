// SPDX-License-Identifier: Apache-2.0
//
// What crosses processes over gRPC: the kernels of Send and Receive, and the streams they use. One
// bidirectional stream for each pair of processes: the lower number serves, the higher connects.
//
// Order of things: an exchange; serve() where there is a higher process, connect() to each lower
// one there is traffic with; the executor, whose kernels declare every message and its bytes; only
// when all processes have come so far may any of them run a step. At the end the executor goes
// first.
//
// Memory: a Send returns when gRPC has let go of its tensors, so that they may be overwritten at
// once; no rule about who answers which is needed, and values may share memory as they are planned.
// A Receive never overwrites before its step asks for it: what comes early waits as gRPC's slices,
// at most two steps of it, or kTicketsAhead tickets. Our code allocates nothing in a step once its
// buffers have grown; gRPC does for every chunk (slices of what it reads, a few words for each
// slice that it writes).
#pragma once

#include <memory>
#include <string>

#include "kernels/comm/grpc/exchange_options.h"
#include "kernels/comm/transport.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

class GrpcExchange final : public Transport {
 public:
  /// Throws: RunError(Usage) when run id or token are not what they must be.
  explicit GrpcExchange(const ExchangeOptions& options);
  ~GrpcExchange() override;

  /// Listens and returns `address:port`. `port` 0: any that is free. Throws: RunError(Io).
  std::string serve(int port = 0);

  /// Connects to a process with a lower number and returns when it has accepted.
  /// Throws: RunError(PeerLost) with gRPC's words.
  void connect(int process, const std::string& address);
  using Transport::connect;

  /// Adds send and receive. Kernels throw RunError(Timeout) and RunError(PeerLost), naming step,
  /// message and process, or Aborted.
  void add_kernels(KernelTable& table) override;

  /// What servers of this process have measured of pushes: by the server's place, and by the
  /// worker's.
  ExchangeTimesByPlace exchange_times() const override;
  void lose(int process, const std::string& reason) override;

  /// Ends all streams, after what is queued, and stops to listen. Not while lanes run.
  void close();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace regatta
