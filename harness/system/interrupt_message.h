// SPDX-License-Identifier: Apache-2.0
//
// Last words: while one is there, SIGINT, SIGTERM and SIGHUP print its text before they do what
// they did before. A signal that was ignored stays so.
#pragma once

#include <string>

namespace regatta {

/// One at a time in a process.
class InterruptMessage {
 public:
  explicit InterruptMessage(const std::string& text);
  ~InterruptMessage();
  InterruptMessage(const InterruptMessage&) = delete;
  InterruptMessage& operator=(const InterruptMessage&) = delete;
};

}  // namespace regatta
