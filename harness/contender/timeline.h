// SPDX-License-Identifier: Apache-2.0
//
// Turns a program's events into the clocks, evaluations and losses of its record, and refuses
// events that contradict each other. Both clocks start at `ready`; the training clock stands still
// from `evaluate_begin` to `evaluate`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "harness/contender/events.h"
#include "harness/record/record.h"

namespace regatta::contender {

struct TimelineOptions {
  std::int64_t train_examples = 0;  ///< 0: not known
  std::int64_t total_examples = 0;  ///< examples of the whole run; 0: unknown
  /// Checks a line of JSON with a proof, and throws if it proves nothing; empty: no claim.
  std::function<void(const std::string&)> prove;
};

class Timeline {
 public:
  /// `record` has the target, and outlives this object.
  Timeline(TimelineOptions options, record::Record& record)
      : options_(std::move(options)), record_(record) {}

  /// Throws: RunError(Program) for an event that may not come now, RunError(Diverged) for a number
  /// that is not finite.
  void take(const Event& event);
  /// Sets the record's clocks and speed at the end of the run, which may have come early.
  void finish(std::int64_t now_ns);

  std::optional<std::int64_t> ready_ns() const { return ready_ns_; }
  bool is_done() const { return done_ns_.has_value(); }
  std::int64_t examples() const { return examples_; }
  std::int64_t steps() const { return steps_; }
  double examples_per_s(std::int64_t now_ns) const;
  /// Returns the moment as text: `before ready`, `after 512 examples`, `after done`.
  std::string moment() const;

 private:
  void step(const Event& event);
  void evaluate(const Event& event);
  void done();
  std::int64_t training_ns(std::int64_t now_ns) const;

  TimelineOptions options_;
  record::Record& record_;
  bool proven_ = false;
  std::optional<std::int64_t> ready_ns_, evaluates_since_ns_, done_ns_;
  std::int64_t evaluating_ns_ = 0;  ///< in all
  std::int64_t examples_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t steps_in_sample_ = 1;  ///< each so many a loss is kept
};

}  // namespace regatta::contender
