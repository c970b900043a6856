// SPDX-License-Identifier: Apache-2.0
//
// For tests: records steps of emulated queues, and of test doubles, as host functions. Only
// recorded waits order them: a replay runs ready functions queue by queue, from the last queue to
// the first, and the next replay from the first to the last, so a missing wait shows as a wrong
// result. Threads: one at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/runtime/capture/step_recorder.h"

namespace regatta {

class FunctionRecording {
 public:
  explicit FunctionRecording(std::size_t queues) : last_(queues), waits_(queues) {}

  void add(std::size_t queue, std::function<void()> work);
  /// Adds an item that does nothing and returns its index.
  std::size_t mark(std::size_t queue);
  void wait(std::size_t queue, std::size_t mark) { waits_[queue].push_back(mark); }

  std::size_t size() const { return items_.size(); }
  void replay();

 private:
  struct Item {
    std::size_t queue = 0;
    std::function<void()> work;
    std::vector<std::size_t> after;
  };
  bool is_ready(const Item& item, const std::vector<bool>& done) const;

  std::vector<Item> items_;
  std::vector<std::optional<std::size_t>> last_;  ///< the queue's latest item, by queue
  std::vector<std::vector<std::size_t>> waits_;   ///< waits of the next item, by queue
  bool first_to_last_ = false;
};

/// A queue whose work can be recorded as functions.
class FunctionQueue {
 public:
  virtual ~FunctionQueue() = default;
  /// Records work into `recording` from now on; null: the queue runs it as usual.
  virtual void record_into(FunctionRecording* recording, std::size_t number) = 0;
};

/// Makes a recorder for devices that have only FunctionQueues.
std::unique_ptr<StepRecorder> make_function_recorder();

}  // namespace regatta
