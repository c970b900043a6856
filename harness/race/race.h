// SPDX-License-Identifier: Apache-2.0
//
// One race: runs a cell of the matrix from its initial weights to its last evaluation, and returns
// the record. Set-up, kernel building and warm-up come before the clocks start. The training clock
// excludes evaluations and checkpoints, and the full clock includes them. The result clock measures
// the same as the airbench script: initial weights from the data, training, and one evaluation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "harness/plan/race_request.h"
#include "harness/record/record.h"
#include "kernels/graph/graph.h"

namespace regatta::race {

/// The latest evaluation of a run in progress.
struct LastEvaluation {
  std::int64_t step = 0;
  double loss = 0;
  double metric = 0;
  std::optional<double> bits_per_byte = {};
};

enum class Occasion : std::uint8_t { Evaluation, Tick };

/// The progress of a run, reported after every evaluation and every half second.
/// Threads: RaceHooks::progress is called from several threads, but never by two at once.
struct RaceProgress {
  Occasion occasion = Occasion::Tick;
  std::int64_t step = 0;
  std::int64_t steps = 0;               ///< planned steps of the whole run
  std::optional<double> training_loss;  ///< loss of the last step; empty before the first
  LastEvaluation evaluation;
  record::Target target;
  std::optional<std::int64_t> reached_at_step;
  double examples_per_s = 0;           ///< mean so far, by the training clock, as in the record
  std::optional<double> tokens_per_s;  ///< empty if examples are not sequences
  std::optional<double> seconds_left;  ///< estimate with evaluations; empty while unknown
};

/// Callbacks of a race; each may be empty.
struct RaceHooks {
  /// Called with the placed graph after the request has been checked, just before the clocks start.
  std::function<void(const Graph& placed)> ready;
  std::function<void(const RaceProgress&)> progress;
  std::function<void(const std::string&)> tell;      ///< receives a line about the run's processes
  std::function<void(const record::Record&)> ended;  ///< called before the trace is written
};

/// Runs the race. If the run cannot go on (diverged, timed out), its record has the status failed.
/// Throws: RunError for errors before the clocks start (usage, data, unsupported, io); later only
/// for a trace that cannot be written.
record::Record race(const plan::RaceRequest& request, const RaceHooks& hooks);

}  // namespace regatta::race
