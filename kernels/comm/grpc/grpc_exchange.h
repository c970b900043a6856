// SPDX-License-Identifier: Apache-2.0
//
// Exchange between processes over gRPC: the kernels of Send and Receive, and their streams. Each
// pair of processes has one bidirectional stream: the process with the lower number is the server,
// the other the client.
//
// Call order: construct the exchange; serve() if there is a process with a higher number; connect()
// to each process with a lower number that this process exchanges messages with; build the
// executor, whose kernels declare every message and its size. No process may run a step before all
// processes have done this. At the end the executor is destroyed before the exchange.
//
// Memory: a Send returns when gRPC has released its tensors, so they may be overwritten at once,
// and values may share memory as planned. A Receive never overwrites its tensors before its step:
// early chunks are kept in gRPC's slices, for at most two steps or kTicketsAhead tickets. Our code
// does not allocate in a step once its buffers have grown; gRPC allocates for every chunk (slices
// for its reads, a few words for each slice that it writes).
#pragma once

#include <memory>
#include <string>

#include "kernels/comm/grpc/exchange_options.h"
#include "kernels/comm/transport.h"
#include "kernels/runtime/kernel.h"

namespace regatta::comm {

class GrpcExchange final : public Transport {
 public:
  /// Makes an exchange that neither listens nor connects yet. Throws: RunError(Usage) if the run id
  /// or the token is malformed.
  explicit GrpcExchange(const ExchangeOptions& options);
  ~GrpcExchange() override;

  /// Starts to listen and returns the address: `ADDRESS:PORT`, or `unix:FOLDER/rank<process>`. If
  /// `port` is 0, any free port is used. Throws: RunError(Io).
  std::string serve(int port = 0);

  /// Connects to `process`, whose number is lower than this process's, and returns once it has
  /// accepted the connection. Throws: RunError(PeerLost) with gRPC's error message.
  void connect(int process, const std::string& address);
  using Transport::connect;

  /// Adds the kernels of send and receive. The kernels throw RunError(Timeout) and
  /// RunError(PeerLost), which name step, message and process, and Aborted.
  void add_kernels(KernelTable& table) override;

  /// Returns the times of pushes that this process's servers have measured: those of each server
  /// under its place, those of each worker under the worker's place.
  ExchangeTimesByPlace exchange_times() const override;
  void lose(int process, const std::string& reason) override;

  /// Sends all queued messages, ends all streams and stops listening. Not called while lanes run.
  void close();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace regatta::comm
