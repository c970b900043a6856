// SPDX-License-Identifier: Apache-2.0
//
// One race: a cell of the matrix run from its first weights to its last evaluation, and the record
// of it. Set-up, kernel building and warm-up come before the clocks start. The training clock
// leaves evaluations and checkpoints out, the full clock holds them, and the result clock holds
// what the airbench script's clock does: initial weights from the data, training, and one
// evaluation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "harness/plan/race_request.h"
#include "harness/record/record.h"

namespace regatta {

/// The last evaluation of a run that is under way.
struct LastEvaluation {
  std::int64_t step = 0;
  double loss = 0;
  double metric = 0;
};

enum class Occasion : std::uint8_t { Evaluation, Tick };

/// Told after every evaluation, and every half second between. Threads: one call at a time.
struct RaceProgress {
  Occasion occasion = Occasion::Tick;
  std::int64_t step = 0;
  std::int64_t steps = 0;               ///< of the whole run
  std::optional<double> training_loss;  ///< of the last step; empty before the first
  LastEvaluation evaluation;
  Target target;
  std::optional<std::int64_t> reached_at_step;
  double examples_per_s = 0;           ///< so far, by the training clock, as in the record
  std::optional<double> seconds_left;  ///< evaluations included; empty while nothing tells
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
