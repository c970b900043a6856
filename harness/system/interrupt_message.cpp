// SPDX-License-Identifier: Apache-2.0
#include "harness/system/interrupt_message.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace regatta::system {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

// Allocated before any signal, because a handler must not allocate memory.
std::array<char, 4096> handler_text;
std::size_t handler_bytes = 0;
std::array<struct sigaction, kSignals.size()> former_actions;

/// Prints the message, restores the previous action and repeats the signal for it.
void say_and_raise(int signal) {
  if (write(STDERR_FILENO, handler_text.data(), handler_bytes) < 0)
    handler_bytes = 0;  // stderr is closed
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] == signal) sigaction(signal, &former_actions[i], nullptr);
  }
  raise(signal);
}

}  // namespace

InterruptMessage::InterruptMessage(const std::string& message) {
  const std::string line = "\nregatta: " + message + "\n";
  handler_bytes = std::min(line.size(), handler_text.size());
  std::copy_n(line.begin(), handler_bytes, handler_text.begin());
  struct sigaction action {};
  action.sa_handler = say_and_raise;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &former_actions[i]);
    if (former_actions[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptMessage::~InterruptMessage() {
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    sigaction(kSignals[i], &former_actions[i], nullptr);
}

}  // namespace regatta::system
