// SPDX-License-Identifier: Apache-2.0
//
// What the coordinator sends to a rank, read by a thread of its own: an early end ends the process
// at once, whatever its other threads do. There is nothing to keep, and the others may never
// return.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "harness/ranks/control_client.h"

namespace regatta {

/// A line on stderr, in one piece: mpirun marks each piece that it reads.
void say(const std::string& text);

class RankCommands {
 public:
  /// `while_running` hears, on the reading thread, of what cannot wait for the end of a command.
  RankCommands(ControlClient& client, std::function<void(const control::ToRank&)> while_running);
  ~RankCommands();

  /// Waits for it: a session that breaks ends the process. Threads: one.
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
