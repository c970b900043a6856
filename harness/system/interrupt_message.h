// SPDX-License-Identifier: Apache-2.0
//
// Prints a message when a run is interrupted. While an instance exists, SIGINT, SIGTERM and SIGHUP
// first print its text and then have their usual effect. An ignored signal stays ignored.
#pragma once

#include <string>

namespace regatta::system {

/// Prints `text` on SIGINT, SIGTERM or SIGHUP, before the signal's previous action. Only one
/// instance may exist at a time in a process.
class InterruptMessage {
 public:
  explicit InterruptMessage(const std::string& text);
  ~InterruptMessage();
  InterruptMessage(const InterruptMessage&) = delete;
  InterruptMessage& operator=(const InterruptMessage&) = delete;
};

}  // namespace regatta::system
