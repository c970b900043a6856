// SPDX-License-Identifier: Apache-2.0
//
// Records a step of a loop once, from all of the loop's queues, and launches it as one. The first
// queue is the origin: the others fork from it at the start of the recording and join it at the
// end, so a launch has ended when the origin's queue is finished.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace regatta {

class LaneQueue;

/// A recorded step. If destroyed during a launch, it lets that launch finish.
class RecordedStep {
 public:
  RecordedStep() = default;
  RecordedStep(const RecordedStep&) = delete;
  RecordedStep& operator=(const RecordedStep&) = delete;
  virtual ~RecordedStep() = default;
  /// Puts the whole step into the origin's queue.
  virtual void launch() = 0;
};

/// Records one step. A recorder that is destroyed before end() abandons the recording.
/// Threads: one. Throws: RunError(Device) for errors that the device reports.
class StepRecorder {
 public:
  /// A point in a queue that another may wait for.
  using Mark = std::size_t;

  StepRecorder() = default;
  StepRecorder(const StepRecorder&) = delete;
  StepRecorder& operator=(const StepRecorder&) = delete;
  virtual ~StepRecorder() = default;

  /// Work put into these queues from now on is recorded, not done. Later calls number the queues in
  /// this order.
  virtual void begin(std::span<LaneQueue* const> queues) = 0;
  /// Marks the end of the work that the queue holds now.
  virtual Mark mark(std::size_t queue) = 0;
  /// Work put into the queue from now on runs after the mark.
  virtual void wait(std::size_t queue, Mark mark) = 0;
  /// Throws if the latest work cannot be recorded.
  virtual void look() = 0;
  /// Ends the recording. Called once.
  virtual std::unique_ptr<RecordedStep> end() = 0;
};

}  // namespace regatta
