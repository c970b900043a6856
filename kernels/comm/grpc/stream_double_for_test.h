// SPDX-License-Identifier: Apache-2.0
//
// Double of a CUDA stream: tasks run later on its own thread, or are recorded into a graph during a
// capture.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

struct CUstream_st;

namespace regatta::nccl_double {

/// Runs submitted tasks in order on its own thread.
class Stream {
 public:
  Stream() : thread_([this] { work(); }) {}
  ~Stream() {
    submit({});
    thread_.join();
  }
  void submit(std::function<void()> task) {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  /// Calls each task through `around`. Called before the first task.
  void surround(std::function<void(const std::function<void()>&)> around) {
    const std::scoped_lock lock(mutex_);
    around_ = std::move(around);
  }
  void finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty(); });
  }
  bool is_idle() {
    const std::scoped_lock lock(mutex_);
    return tasks_.empty();
  }
  /// Destination of tasks submitted during a capture, and the objects that its graph keeps alive.
  struct Capture {
    std::function<void(std::function<void()>)> take;
    std::vector<std::shared_ptr<void>>* held = nullptr;
  };
  void capture(std::optional<Capture> capture) { capture_ = std::move(capture); }
  bool is_captured() const { return capture_.has_value(); }
  /// Submits NCCL's work; a captured graph holds the communicator. Threads: the capturing one.
  void submit_of(const std::shared_ptr<void>& communicator, std::function<void()> task) {
    if (!capture_) return submit(std::move(task));
    capture_->held->push_back(communicator);
    capture_->take(std::move(task));
  }
  CUstream_st* handle() { return reinterpret_cast<CUstream_st*>(this); }
  static Stream& of(CUstream_st* handle) { return *reinterpret_cast<Stream*>(handle); }

 private:
  /// Runs tasks, each removed after it has run; an empty one ends the thread.
  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !tasks_.empty(); });
      const std::function<void()> task = tasks_.front();
      lock.unlock();
      if (task && around_) {
        around_(task);
      } else if (task) {
        task();
      }
      lock.lock();
      tasks_.pop_front();
      changed_.notify_all();
      if (!task) return;
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::optional<Capture> capture_;
  std::function<void(const std::function<void()>&)> around_;
  std::thread thread_;
};

}  // namespace regatta::nccl_double
