// SPDX-License-Identifier: Apache-2.0
//
// Decides whether two runs of one seed compute the same. A synchronous run is a function of its
// seed, so the losses of its first steps, and the norm of its parameters after some of them, are
// bitwise equal or differ only as much as a reordering of additions explains. A fault of the maths
// shows at once, so one pair of runs reveals it, where a rank test of losses would need hundreds.
//
// The effect of reordering is measured: reorderings_bench computes the same steps with the sums of
// gradients in 1,000 other orders. The bound is four times the largest difference that it found at
// that step or an earlier one. A loss reveals a wrongly averaged gradient. It does not reveal a
// wrong weight decay, because rounding hides that: ReLU and max pooling turn one choice into
// another after three steps. The norm does, because all parameters shrink together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/judge/finished_runs.h"

namespace regatta {

/// The first step at which the runs differ by more than rounding explains.
struct Departure {
  std::int64_t step = 0;  ///< number of steps taken before
  std::string_view what;  ///< `loss`, or `norm of the parameters`
  double base = 0;
  double head = 0;
};

struct PathComparison {
  bool same_examples = true;  ///< consumed in the same order, as far as the records show
  std::int64_t steps = 0;     ///< compared steps after the first one; 0 proves nothing
  std::optional<Departure> departure;
};

/// The numbers of steps after which losses, and norms, are still compared.
inline constexpr std::int64_t kComparedLosses = 8;
inline constexpr std::int64_t kComparedNorms = 16;

/// The largest relative difference after `steps` steps between runs that compute the same.
double loss_bound(std::int64_t steps);
double norm_bound(std::int64_t steps);

/// Whether the strategy is synchronous; false for a name that this program does not know.
bool steps_together(const std::string& strategy);

/// Whether both runs must compute the same: one cell and seed in f32, under a synchronous strategy
/// without backup workers, from equal weights.
bool must_follow(const FinishedRun& base, const FinishedRun& head);

/// Compares two runs that must_follow() each other.
PathComparison compare_paths(const FinishedRun& base, const FinishedRun& head);

}  // namespace regatta
