// SPDX-License-Identifier: Apache-2.0
//
// Reads the coordinator's commands in a rank, on a separate thread. If the run ends early, the
// process ends at once: its other threads may never return, and it has no results to save.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "harness/ranks/control_client.h"

namespace regatta::ranks {

/// The exit code of a rank whose run has failed.
inline constexpr int kEndedEarly = 3;

/// Prints a line on stderr by one write(2), because mpirun tags each piece of output that it reads.
void log_line(const std::string& text);

class RankCommands {
 public:
  /// `while_running` receives the commands that cannot wait for the current one to finish: a
  /// process was lost, or the run stops. It is called from the reading thread.
  RankCommands(ControlClient& client, std::function<void(const control::ToRank&)> while_running);
  ~RankCommands();

  /// Waits for the next command. Ends the process if the session is broken.
  /// Threads: called from one thread.
  control::ToRank next();

 private:
  void read(ControlClient& client);

  std::function<void(const control::ToRank&)> while_running_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<control::ToRank> commands_;
  std::thread reader_;
};

}  // namespace regatta::ranks
