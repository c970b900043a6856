// SPDX-License-Identifier: Apache-2.0
//
// Exchange between processes over gRPC: the kernels of Send and Receive, and their streams. Each
// pair of processes has one bidirectional stream: the lower number serves, the higher connects.
//
// Call order: construct the exchange; serve() if there is a higher process, connect() to each lower
// process with which there is traffic; build the executor; its kernels declare every message and
// its bytes. No process may run a step before all have reached this point. At the end the executor
// is destroyed first.
//
// Memory: a Send returns when gRPC has released its tensors, so they may be overwritten at once; no
// rule about the order of replies is needed, and values may share memory as planned. A Receive
// never overwrites its tensors before its step: early chunks wait as gRPC's slices, for at most two
// steps or kTicketsAhead tickets. Our code allocates nothing in a step once its buffers have grown;
// gRPC allocates for every chunk (slices for its reads, a few words for each slice that it
// writes).
#pragma once

#include <memory>
#include <string>

#include "kernels/comm/grpc/exchange_options.h"
#include "kernels/comm/transport.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

class GrpcExchange final : public Transport {
 public:
  /// Throws: RunError(Usage) when run id or token are malformed.
  explicit GrpcExchange(const ExchangeOptions& options);
  ~GrpcExchange() override;

  /// Listens and returns `address:port`. `port` 0: any that is free. Throws: RunError(Io).
  std::string serve(int port = 0);

  /// Connects to a process with a lower number and returns when it has accepted.
  /// Throws: RunError(PeerLost) with gRPC's reason.
  void connect(int process, const std::string& address);
  using Transport::connect;

  /// Adds the kernels of send and receive. They throw RunError(Timeout) and RunError(PeerLost),
  /// naming step, message and process, or Aborted.
  void add_kernels(KernelTable& table) override;

  /// Times of pushes that this process's servers have measured, by the server's place and by the
  /// worker's.
  ExchangeTimesByPlace exchange_times() const override;
  void lose(int process, const std::string& reason) override;

  /// Ends all streams after queued messages, and stops listening. Not called while lanes run.
  void close();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace regatta
