// SPDX-License-Identifier: Apache-2.0
//
// A step of a loop that a device records once, from all of the loop's queues, and launches as one.
// The first queue is the origin: the others fork from it where the recording begins and join it
// where it ends, so that a launch is over when the origin's queue is.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace regatta {

class LaneQueue;

/// What was recorded. Destroyed while a launch is under way, it lets that one end by itself.
class RecordedStep {
 public:
  RecordedStep() = default;
  RecordedStep(const RecordedStep&) = delete;
  RecordedStep& operator=(const RecordedStep&) = delete;
  virtual ~RecordedStep() = default;
  /// Puts all of it into the origin's queue.
  virtual void launch() = 0;
};

/// Records one step. A recorder that is destroyed before end() gives the recording up.
/// Threads: one. Throws: RunError(Device) of what the device reports.
class StepRecorder {
 public:
  /// A point in a queue that another may wait for.
  using Mark = std::size_t;

  StepRecorder() = default;
  StepRecorder(const StepRecorder&) = delete;
  StepRecorder& operator=(const StepRecorder&) = delete;
  virtual ~StepRecorder() = default;

  /// What is put into these from now on is recorded and not done. They are numbered in this order.
  virtual void begin(std::span<LaneQueue* const> queues) = 0;
  /// The point behind all that a queue holds by now.
  virtual Mark mark(std::size_t queue) = 0;
  /// What is put into the queue from now on comes after that point.
  virtual void wait(std::size_t queue, Mark mark) = 0;
  /// Throws where what was put in last cannot be recorded.
  virtual void look() = 0;
  /// Once.
  virtual std::unique_ptr<RecordedStep> end() = 0;
};

}  // namespace regatta
