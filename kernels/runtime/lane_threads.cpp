// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/lane_threads.h"

#include <utility>
namespace regatta {
namespace {

/// Polls for the other lanes before further polls yield the core.
constexpr int kLooks = 400;

}  // namespace

LaneThreads::LaneThreads(std::span<const std::unique_ptr<Lane>> lanes, FailureRule rule)
    : rule_(std::move(rule)) {
  threads_.reserve(lanes.size());
  try {
    const std::lock_guard lock(mutex_);  // no lane runs before all threads exist
    for (const auto& lane : lanes) {
      threads_.emplace_back([this, &lane = *lane] { serve(lane); });
    }
  } catch (...) {  // the system grants no more threads
    end_threads();
    throw;
  }
}

LaneThreads::~LaneThreads() { end_threads(); }

void LaneThreads::end_threads() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void LaneThreads::begin(Task task, std::unique_lock<std::mutex>& lock) {
  task_ = task;
  ++generation_;
  running_ = threads_.size();
  changed_.notify_all();
  changed_.wait(lock, [&] { return running_ == 0; });
}

void LaneThreads::run() {
  std::unique_lock lock(mutex_);
  if (error_ != nullptr) std::rethrow_exception(error_);
  begin(Task::Run, lock);
  if (error_ != nullptr) std::rethrow_exception(error_);
}

void LaneThreads::rest() {
  std::unique_lock lock(mutex_);
  begin(Task::Rest, lock);
}

void LaneThreads::serve(Lane& lane) {
  lane.adopt_thread();
  std::uint64_t served = 0;
  bool rested = false;
  for (;;) {
    Task task = Task::Run;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return quit_ || generation_ > served; });
      if (quit_) return;
      served = generation_;
      task = task_;
    }
    try {
      if (rested && task == Task::Run) lane.adopt_thread();
      rested = task == Task::Rest;
      start_together(served);
      if (task == Task::Run) {
        lane.run();
      } else {
        lane.end_team();
      }
    } catch (const Aborted&) {  // another lane has reported the reason
    } catch (...) {
      if (std::exception_ptr error = rule_(lane, std::current_exception())) end(std::move(error));
    }
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) changed_.notify_all();
  }
}

/// Returns when all lanes are awake: if steps are short, the first to wake would otherwise claim
/// the examples of the others.
void LaneThreads::start_together(std::uint64_t generation) {
  const std::uint64_t all = generation * threads_.size();
  awake_.fetch_add(1, std::memory_order_acq_rel);
  for (int looks = 0; awake_.load(std::memory_order_acquire) < all; ++looks) {
    if (looks >= kLooks) std::this_thread::yield();
  }
}

void LaneThreads::end(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (error_ == nullptr) error_ = std::move(error);
}

}  // namespace regatta
