// SPDX-License-Identifier: Apache-2.0
//
// Reads the coordinator's commands in a rank, on a separate thread. An early end of the run ends
// the process at once, because its other threads may never return and it holds nothing to save.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "harness/ranks/control_client.h"

namespace regatta {

/// The exit code of a rank whose run has failed.
inline constexpr int kEndedEarly = 3;

/// Prints a line on stderr by one write, because mpirun tags each piece that it reads.
void say(const std::string& text);

class RankCommands {
 public:
  /// `while_running` is called on the reading thread, for lost processes and stops, which cannot
  /// wait until the current command is done.
  RankCommands(ControlClient& client, std::function<void(const control::ToRank&)> while_running);
  ~RankCommands();

  /// Waits for the next command. A broken session ends the process. Threads: one.
  control::ToRank next();

 private:
  void read(ControlClient& client);

  std::function<void(const control::ToRank&)> while_running_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<control::ToRank> commands_;
  std::thread reader_;
};

}  // namespace regatta
