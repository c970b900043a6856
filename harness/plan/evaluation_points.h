// SPDX-License-Identifier: Apache-2.0
//
// After how many examples a run is evaluated: once a period, and four times as often where the
// target is near, so that the time to the target is known as exactly. Near: two periods more at the
// fastest pace of the last three would reach it, as a curve may become steeper, and an accuracy
// falls now and then. When the target is reached, once a period again. Or at the end of the run
// alone (--evaluate end).
#pragma once

#include <cstdint>
#include <span>

#include "harness/record/record.h"

namespace regatta {

/// What --evaluate asks for.
enum class Evaluate : std::uint8_t { Often, AtEnd };

/// Units: examples, in whole global batches.
struct EvaluationPoints {
  std::int64_t period = 1;
  std::int64_t fine = 1;  ///< near the target
  std::int64_t total = 1;
};

EvaluationPoints evaluation_points(std::int64_t period, std::int64_t global_batch,
                                   std::int64_t total);

/// The end of the run.
EvaluationPoints evaluation_at(std::int64_t total);

/// At most so many.
std::int64_t most_evaluations(const EvaluationPoints& points);

/// As many as usual: the target is near for three periods.
std::int64_t expected_evaluations(const EvaluationPoints& points);

/// The first count of examples after `examples` at which there is an evaluation, by those so far.
/// Independent of how the run came there, so that a resumed run is evaluated where others are.
std::int64_t next_evaluation(const EvaluationPoints& points, const Target& target,
                             std::span<const Evaluation> evaluations, std::int64_t examples);

}  // namespace regatta
