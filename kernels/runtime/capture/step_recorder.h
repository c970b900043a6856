// SPDX-License-Identifier: Apache-2.0
//
// Interface to record one step of a loop from all of the loop's queues and to launch it as one,
// like a CUDA graph. The first queue is the origin: the other queues fork from it at the start of
// the recording and join it at the end, so a launch has ended when the origin's queue is finished.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace regatta {

class LaneQueue;

/// A recorded step. Destroying it during a launch is allowed: the launch still finishes.
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
/// Threads: used from a single thread. Throws: RunError(Device) for errors that the device reports.
class StepRecorder {
 public:
  /// A point in a queue that another queue may wait for.
  using Mark = std::size_t;

  StepRecorder() = default;
  StepRecorder(const StepRecorder&) = delete;
  StepRecorder& operator=(const StepRecorder&) = delete;
  virtual ~StepRecorder() = default;

  /// Starts the recording: work put into `queues` from now on is recorded instead of done.
  /// Arguments `queue` of the other functions are indices into `queues`.
  virtual void begin(std::span<LaneQueue* const> queues) = 0;
  /// Marks the end of the work that the queue holds now.
  virtual Mark mark(std::size_t queue) = 0;
  /// Makes work that is put into the queue from now on run after the mark.
  virtual void wait(std::size_t queue, Mark mark) = 0;
  /// Checks that the work put into the queues so far can be recorded; throws if not.
  virtual void look() = 0;
  /// Ends the recording and returns the recorded step. Called once.
  virtual std::unique_ptr<RecordedStep> end() = 0;
};

}  // namespace regatta
