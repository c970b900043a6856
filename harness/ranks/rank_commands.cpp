// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/rank_commands.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace regatta::ranks {
namespace {

[[noreturn]] void end_now(const std::string& reason) {
  log_line("this rank ends: " + reason);
  std::_Exit(kEndedEarly);
}

}  // namespace

void log_line(const std::string& text) {
  const std::string line = "regatta: " + text + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // the coordinator has ended
}

RankCommands::RankCommands(ControlClient& client,
                           std::function<void(const control::ToRank&)> while_running)
    : while_running_(std::move(while_running)), reader_([this, &client] { read(client); }) {}

RankCommands::~RankCommands() { reader_.join(); }

control::ToRank RankCommands::next() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [this] { return !commands_.empty(); });
  control::ToRank command = std::move(commands_.front());
  commands_.pop_front();
  return command;
}

void RankCommands::read(ControlClient& client) {
  for (;;) {
    std::optional<control::ToRank> command = client.read();
    if (!command) end_now("the session with the coordinator is broken: " + client.finish());
    const bool last = command->has_end();
    if (last && !command->end().reason().empty()) end_now(command->end().reason());
    if (command->has_lost() || command->has_stop()) {
      while_running_(*command);
      continue;
    }
    const std::lock_guard lock(mutex_);
    commands_.push_back(std::move(*command));
    arrived_.notify_one();
    if (last) return;
  }
}

}  // namespace regatta::ranks
