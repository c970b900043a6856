// SPDX-License-Identifier: Apache-2.0
#include "harness/interrupt_message.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace regatta {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

// What a handler may touch: no memory is set aside in it.
std::array<char, 4096> text;
std::size_t text_bytes = 0;
std::array<struct sigaction, kSignals.size()> former;

/// Handled again at once as if this handler had never been there.
void say(int signal) {
  if (write(STDERR_FILENO, text.data(), text_bytes) < 0) text_bytes = 0;  // nobody reads it
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] == signal) sigaction(signal, &former[i], nullptr);
  }
  raise(signal);
}

}  // namespace

InterruptMessage::InterruptMessage(const std::string& message) {
  const std::string line = "\nregatta: " + message + "\n";
  text_bytes = std::min(line.size(), text.size());
  std::copy_n(line.begin(), text_bytes, text.begin());
  struct sigaction action {};
  action.sa_handler = say;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &former[i]);
    if (former[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptMessage::~InterruptMessage() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &former[i], nullptr);
}

}  // namespace regatta
