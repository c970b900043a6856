// SPDX-License-Identifier: Apache-2.0
//
// One race: a cell of the matrix run from its first weights to its last evaluation, and the record
// of it. Set-up, kernel building and warm-up come before the clocks start. The training clock
// leaves evaluations and checkpoints out, the full clock holds them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "harness/plan/race_request.h"
#include "harness/record/record.h"

namespace regatta {

/// Told after every evaluation, and every half second between. Threads: one call at a time.
struct RaceProgress {
  std::int64_t examples = 0;
  std::int64_t total_examples = 0;
  std::int64_t step = 0;
  std::optional<double> loss;  ///< both only after an evaluation
  std::optional<double> metric;
  double examples_per_s = 0;  ///< so far, by the training clock, as in the record
  double seconds_left = 0;    ///< evaluations included
};

/// What a caller hears of a race; each may be empty.
struct RaceHooks {
  std::function<void()> ready;  ///< nothing is wrong with the request; the clocks start next
  std::function<void(const RaceProgress&)> progress;
  std::function<void(const std::string&)> tell;  ///< a line about the run's processes
  std::function<void(const Record&)> ended;      ///< before the trace is written
};

/// Runs the race. A run that cannot go on (diverged, timed out) is a record with status failed.
/// Throws: RunError for what is wrong before the clock starts: usage, data, unsupported, io; later
/// only for a trace that cannot be written.
Record race(const RaceRequest& request, const RaceHooks& hooks);

}  // namespace regatta
