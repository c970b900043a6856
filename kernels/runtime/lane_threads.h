// SPDX-License-Identifier: Apache-2.0
//
// The threads that run an executor's lanes, one each, from its first run to its end. Between runs
// they sleep. When a lane fails, the abort flag ends the others and run() throws its error.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "kernels/runtime/lane.h"

namespace regatta {

class LaneThreads {
 public:
  /// The lanes are built; they and the flag outlive the threads.
  LaneThreads(std::span<const std::unique_ptr<Lane>> lanes, AbortFlag& abort);
  ~LaneThreads();
  LaneThreads(const LaneThreads&) = delete;
  LaneThreads& operator=(const LaneThreads&) = delete;

  /// Lets every lane run until its gate closes. Throws: what the first lane threw that failed.
  void run();

 private:
  void serve(Lane& lane);
  void start_together(std::uint64_t generation);
  void fail(std::exception_ptr error);

  AbortFlag& abort_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t generation_ = 0;  ///< runs begun
  std::size_t running_ = 0;       ///< lanes that have not ended this run
  bool quit_ = false;
  std::atomic<std::uint64_t> awake_{0};  ///< lanes that have begun a run, over all runs
  std::exception_ptr error_;
  std::vector<std::thread> threads_;  ///< last: they use all of the above
};

}  // namespace regatta
