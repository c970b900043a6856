// SPDX-License-Identifier: Apache-2.0
//
// The counts of examples at which a run is evaluated: one per period, and four per period while the
// target is near, so that the time to the target is known four times as exactly. It is near if two
// more periods at the fastest pace of the last three would reach it: a curve may become steeper,
// and an accuracy sometimes falls. After the target is reached there is one per period again. With
// `--evaluate end` there is only one, at the end of the run.
#pragma once

#include <cstdint>
#include <span>

#include "harness/record/record.h"

namespace regatta {

/// The values of --evaluate.
enum class Evaluate : std::uint8_t { Often, AtEnd };

/// Units: examples, in whole global batches.
struct EvaluationPoints {
  std::int64_t period = 1;
  std::int64_t fine = 1;  ///< near the target
  std::int64_t total = 1;
};

EvaluationPoints evaluation_points(std::int64_t period, std::int64_t global_batch,
                                   std::int64_t total);

/// Points of a run that is evaluated only at its end.
EvaluationPoints evaluation_at(std::int64_t total);

/// An upper bound on the number of evaluations.
std::int64_t most_evaluations(const EvaluationPoints& points);

/// The number of evaluations in a usual run, where the target is near for three periods.
std::int64_t expected_evaluations(const EvaluationPoints& points);

/// The first count above `examples` at which an evaluation is due, given the evaluations so far. It
/// does not depend on where the run was started, so a resumed run is evaluated where others are.
std::int64_t next_evaluation(const EvaluationPoints& points, const Target& target,
                             std::span<const Evaluation> evaluations, std::int64_t examples);

}  // namespace regatta
