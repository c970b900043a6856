// SPDX-License-Identifier: Apache-2.0
//
// The rank's side of the control service: one session with the coordinator, and a heartbeat that a
// separate thread sends every half second.
// Threads: read() is called from one thread, send() from any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "harness/ranks/control.pb.h"
#include "harness/ranks/control_protocol.h"
#include "kernels/comm/grpc/exchange_options.h"

namespace regatta::ranks {

class ControlClient {
 public:
  /// Opens the session. Throws: RunError(PeerLost) if no coordinator answers within 10 s or if it
  /// rejects this process's certificate, RunError(Usage) that names an unusable TLS file.
  ControlClient(const std::string& address, const comm::RunIdentity& identity,
                const control::Hello& hello, const comm::TlsFiles& tls = {});
  /// Ends the session if finish() was not called.
  ~ControlClient();
  ControlClient(const ControlClient&) = delete;
  ControlClient& operator=(const ControlClient&) = delete;

  /// Sets the function that returns the contents of each heartbeat. It is called from the heartbeat
  /// thread.
  void beat(std::function<control::Beat()> progress);
  /// Sends a message. If the session is broken, the message is lost and read() returns empty.
  void send(const control::FromRank& message);
  /// Waits for the coordinator's next message; empty if the session is broken.
  std::optional<control::ToRank> read();
  /// Ends the session. Must be called after the last read(). Returns gRPC's error message; empty if
  /// the session ended without error.
  std::string finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace regatta::ranks
