// SPDX-License-Identifier: Apache-2.0
//
// The coordinator's end of the control service: takes one session from each rank, keeps what ranks
// say in order of arrival and knows when each was heard last. Who does not name the run, its token
// and this protocol's version is refused before anything else of him is read.
// Threads: one thread calls it; gRPC's threads, one a session, fill it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "harness/ranks/control.pb.h"
#include "harness/ranks/control_protocol.h"
#include "kernels/comm/grpc/exchange_options.h"

namespace regatta {

struct ControlServerOptions {
  RunIdentity identity;
  std::string listen = "127.0.0.1";
  int ranks = 1;
  TlsFiles tls{};
};

/// What the server knows of a rank.
struct RankState {
  bool greeted = false;  ///< its session is or was open
  bool broken = false;   ///< its session has ended
  int ended_before = 0;  ///< then: sessions that had ended when it did
  std::string host;
  std::int64_t pid = 0;
  std::int64_t examples = 0;  ///< by its last beat or answer
  std::int64_t beats = 0;     ///< messages of any kind
};

struct RankMessage {
  int rank = 0;
  control::FromRank body;
};

class ControlServer {
 public:
  /// Serves on a free port. Throws: RunError(Usage) for an address that is not this machine's, or
  /// files that cannot be read; RunError(Io) where no port is free.
  explicit ControlServer(const ControlServerOptions& options);
  /// Ends what sessions are left.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  const std::string& address() const;
  /// The oldest message that has not been taken, beats and hellos left out; none within `limit`:
  /// nothing.
  std::optional<RankMessage> next(std::chrono::milliseconds limit);
  /// Does nothing where the session has ended.
  void send(int rank, const control::ToRank& message);
  RankState state(int rank) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace regatta
