// SPDX-License-Identifier: Apache-2.0
//
// Decides whether two runs of one seed compute the same. A synchronous run is a function of its
// seed. Losses of the first steps, and norms of the parameters, are therefore bitwise equal or
// differ only by reordered additions. A mistake in the mathematics shows in the first steps, so one
// pair of runs reveals it; a rank test of losses would need hundreds of pairs.
//
// The effect of reordering was measured (reorderings_bench of 7f73fbb2): the same steps with the
// sums of gradients in 1,000 different orders. The bound at a step is four times the largest
// difference found up to that step. The loss reveals a wrongly averaged gradient, but not a wrong
// weight decay, whose effect is smaller than rounding: after three steps rounding makes ReLU and
// max pooling choose differently. The norm reveals it, because all parameters shrink together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/judge/finished_runs.h"

namespace regatta::judge {

/// The first step at which the runs differ by more than rounding explains.
struct Departure {
  std::int64_t step = 0;  ///< number of completed steps
  std::string_view what;  ///< `loss`, or `norm of the parameters`
  double base = 0;        ///< the value of `what` in the run of base
  double head = 0;        ///< the value of `what` in the run of head
};

struct PathComparison {
  bool same_examples = true;  ///< false if the records show different examples or orders
  std::int64_t steps = 0;     ///< the last compared step; 0: too few to prove anything
  std::optional<Departure> departure;
};

/// The last steps at which losses and norms are compared; later ones differ too much by rounding.
inline constexpr std::int64_t kComparedLosses = 8;
inline constexpr std::int64_t kComparedNorms = 16;

/// Returns the largest relative difference in loss, or in norm, that rounding explains between runs
/// that compute the same, after `steps` steps.
double loss_bound(std::int64_t steps);
double norm_bound(std::int64_t steps);

/// Whether the strategy is synchronous; false for a name that this program does not know.
bool steps_together(const std::string& strategy);

/// Whether both runs must compute the same: they have the same cell, seed and initial weights, the
/// dtype f32, and a synchronous strategy without backup workers.
bool must_follow(const FinishedRun& base, const FinishedRun& head);

/// Compares losses and norms of two runs for which must_follow() is true.
PathComparison compare_paths(const FinishedRun& base, const FinishedRun& head);

}  // namespace regatta::judge
