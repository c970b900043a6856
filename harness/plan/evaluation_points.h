// SPDX-License-Identifier: Apache-2.0
//
// Decides after how many examples a run is evaluated: once per period, and four times per period
// while the target is near, so that the time to the target is known four times as precisely. The
// target is near if two more periods would reach it at the fastest pace of the last three; the
// latest pace alone is not used, because an accuracy sometimes falls. Once the target is reached,
// the run is evaluated once per period again. With `--evaluate end` it is evaluated only at its
// end.
#pragma once

#include <cstdint>
#include <span>

#include "harness/record/record.h"

namespace regatta::plan {

/// The values of --evaluate.
enum class Evaluate : std::uint8_t { Often, AtEnd };

/// The intervals between a run's evaluations. Units: examples, in whole global batches.
struct EvaluationPoints {
  std::int64_t period = 1;
  std::int64_t fine = 1;   ///< the interval while the target is near
  std::int64_t total = 1;  ///< the length of the run
};

/// Returns the intervals for an evaluation period: `period`, and a quarter of it while the target
/// is near. Both are rounded down to whole global batches, at least one.
EvaluationPoints evaluation_points(std::int64_t period, std::int64_t global_batch,
                                   std::int64_t total);

/// Returns the points of a run that is evaluated only at its end, after `total` examples.
EvaluationPoints evaluation_at(std::int64_t total);

/// Returns an upper bound on the number of evaluations of a run.
std::int64_t most_evaluations(const EvaluationPoints& points);

/// Returns the number of examples, above `examples`, after which the next evaluation is due, given
/// the evaluations so far. It does not depend on where the run was started, so a resumed run is
/// evaluated at the same points as an uninterrupted one.
std::int64_t next_evaluation(const EvaluationPoints& points, const record::Target& target,
                             std::span<const record::Evaluation> evaluations,
                             std::int64_t examples);

}  // namespace regatta::plan
