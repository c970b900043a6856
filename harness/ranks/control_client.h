// SPDX-License-Identifier: Apache-2.0
//
// A rank's end of the control service: one session with the coordinator, and a beat every half
// second from a thread of its own.
// Threads: one thread reads; any sends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "harness/ranks/control.pb.h"
#include "harness/ranks/control_protocol.h"
#include "kernels/comm/grpc/exchange_options.h"

namespace regatta {

class ControlClient {
 public:
  /// Opens the session. Throws: RunError(PeerLost) when there is no coordinator within 20 s, or
  /// it has no use for this process' certificate; RunError(Usage) naming a file of TLS.
  ControlClient(const std::string& address, const RunIdentity& identity,
                const control::Hello& hello, const TlsFiles& tls = {});
  /// Ends the session where that has not happened.
  ~ControlClient();
  ControlClient(const ControlClient&) = delete;
  ControlClient& operator=(const ControlClient&) = delete;

  /// From now on, what a beat says. `examples` is called by the beating thread.
  void beat(std::function<std::int64_t()> examples);
  /// Lost where the session is broken; the reader hears of that.
  void send(const control::FromRank& message);
  /// Empty when the session is broken.
  std::optional<control::ToRank> read();
  /// Tells the coordinator that nothing more comes. After the reader has ended.
  /// Returns how the session ended, in gRPC's words; empty when well.
  std::string finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace regatta
