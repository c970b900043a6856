// SPDX-License-Identifier: Apache-2.0
//
// For tests: steps recorded as functions of the host, of queues that are emulated and of doubles.
// Only what was recorded orders them: a replay runs what may run by queue, from the last queue to
// the first and in the next replay the other way round, so that a missing wait shows as a wrong
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
  /// An item that does nothing.
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
  std::vector<std::optional<std::size_t>> last_;  ///< item, by queue
  std::vector<std::vector<std::size_t>> waits_;   ///< of the next item, by queue
  bool first_to_last_ = false;
};

/// A queue whose work can be recorded as functions.
class FunctionQueue {
 public:
  virtual ~FunctionQueue() = default;
  /// Work enters `recording` from now on; null: the queue does it as usual.
  virtual void record_into(FunctionRecording* recording, std::size_t number) = 0;
};

/// For devices whose queues are all FunctionQueues.
std::unique_ptr<StepRecorder> make_function_recorder();

}  // namespace regatta
