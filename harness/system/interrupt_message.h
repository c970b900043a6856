// SPDX-License-Identifier: Apache-2.0
//
// A last message: while an instance exists, SIGINT, SIGTERM and SIGHUP print its text before their
// previous action. An ignored signal stays ignored.
#pragma once

#include <string>

namespace regatta {

/// Threads: one instance at a time in a process.
class InterruptMessage {
 public:
  explicit InterruptMessage(const std::string& text);
  ~InterruptMessage();
  InterruptMessage(const InterruptMessage&) = delete;
  InterruptMessage& operator=(const InterruptMessage&) = delete;
};

}  // namespace regatta
