// SPDX-License-Identifier: Apache-2.0
//
// The threads that run an executor's lanes, one each, from its first run to its end. Between runs
// they sleep. When a lane fails, its owner decides what becomes of the others; when the run ends by
// it, run() throws its error.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "kernels/runtime/lane.h"

namespace regatta {

class LaneThreads {
 public:
  /// Told of a lane's error; makes the lanes end that have to. Returns what the whole run ends by;
  /// null when it goes on.
  using FailureRule = std::function<std::exception_ptr(const Lane&, const std::exception_ptr&)>;

  /// The lanes are built and outlive the threads.
  LaneThreads(std::span<const std::unique_ptr<Lane>> lanes, FailureRule rule);
  ~LaneThreads();
  LaneThreads(const LaneThreads&) = delete;
  LaneThreads& operator=(const LaneThreads&) = delete;

  /// Lets every lane run until its gate closes. Throws: what ended the run; once it has, always.
  void run();
  /// run() throws this error, now or when it is called next, unless it has another already. The
  /// caller makes the lanes end. Threads: any.
  void end(std::exception_ptr error);

 private:
  void serve(Lane& lane);
  void start_together(std::uint64_t generation);

  FailureRule rule_;
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
