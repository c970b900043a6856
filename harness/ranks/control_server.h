// SPDX-License-Identifier: Apache-2.0
//
// The coordinator's side of the control service: accepts one session from each rank, queues the
// ranks' messages in order of arrival and counts each rank's messages. A client that does not send
// the run's id, its token and this protocol's version is refused before any of its messages is
// read.
// Threads: used from one thread; gRPC's threads, one per session, add messages to the queue.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "harness/ranks/control.pb.h"
#include "harness/ranks/control_protocol.h"
#include "kernels/comm/grpc/exchange_options.h"

namespace regatta::ranks {

struct ControlServerOptions {
  comm::RunIdentity identity;
  std::string listen = "127.0.0.1";  ///< address without port, or `unix:FOLDER`
  int ranks = 1;
  comm::TlsFiles tls{};
};

struct RankState {
  bool greeted = false;  ///< the session is or was open
  bool broken = false;   ///< the session has ended
  int ended_before = 0;  ///< number of sessions that ended before this one, if it has ended
  std::string host;
  std::int64_t pid = 0;
  std::int64_t examples = 0;   ///< trained on, as of the rank's last heartbeat or answer
  std::int64_t beats = 0;      ///< messages received, of any kind
  std::optional<double> loss;  ///< in the rank's last heartbeat that had one
};

struct RankMessage {
  int rank = 0;
  control::FromRank body;
};

class ControlServer {
 public:
  /// Serves on a free port, or at the socket `coordinator` in the folder. Throws: RunError(Usage)
  /// if a TLS file cannot be read, RunError(Io) if the server cannot listen there.
  explicit ControlServer(const ControlServerOptions& options);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  const std::string& address() const;
  /// Takes the oldest message that is not a heartbeat or a hello; empty if none arrives within
  /// `limit`.
  std::optional<RankMessage> next(std::chrono::milliseconds limit);
  /// Sends a message to a rank; does nothing if its session has ended.
  void send(int rank, const control::ToRank& message);
  RankState state(int rank) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace regatta::ranks
