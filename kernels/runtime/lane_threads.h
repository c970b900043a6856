// SPDX-License-Identifier: Apache-2.0
//
// One thread for each of an executor's lanes. The threads live as long as the executor and sleep
// between runs. When a lane fails, a rule given by the owner decides which other lanes end; if the
// whole run ends, run() throws the error.
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
  /// Called with a failed lane and its error. Ends the other lanes that cannot go on. Returns the
  /// error that ends the whole run, or null if the run goes on.
  using FailureRule = std::function<std::exception_ptr(const Lane&, const std::exception_ptr&)>;

  /// The lanes must be fully built and must outlive this object.
  LaneThreads(std::span<const std::unique_ptr<Lane>> lanes, FailureRule rule);
  ~LaneThreads();
  LaneThreads(const LaneThreads&) = delete;
  LaneThreads& operator=(const LaneThreads&) = delete;

  /// Runs every lane until its loop's rule lets no further step begin. Throws: the error that ended
  /// the run; every later call throws it again.
  void run();
  /// Ends the lanes' OpenMP teams, whose idle threads would otherwise spin for some milliseconds on
  /// cores that others need. The next run() starts new teams.
  void rest();
  /// Makes run() throw `error`, now or at its next call, unless it already has another error. The
  /// caller must end the lanes. Threads: any.
  void end(std::exception_ptr error);

 private:
  enum class Task : std::uint8_t { Run, Rest };

  void end_threads();
  void begin(Task task, std::unique_lock<std::mutex>& lock);
  void serve(Lane& lane);
  void start_together(std::uint64_t generation);

  FailureRule rule_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Task task_ = Task::Run;
  std::uint64_t generation_ = 0;  ///< tasks begun
  std::size_t running_ = 0;       ///< lanes that have not ended this task
  bool quit_ = false;
  std::atomic<std::uint64_t> awake_{0};  ///< lanes that have begun a task, over all tasks
  std::exception_ptr error_;
  std::vector<std::thread> threads_;  ///< last, because they use all of the above
};

}  // namespace regatta
