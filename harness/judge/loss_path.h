// SPDX-License-Identifier: Apache-2.0
//
// Do two runs of one seed compute the same? A synchronous run is a function of its seed, so the
// losses of its first steps, and the norm of its parameters after some of them, are equal to the
// bit, or differ by what another order of additions explains. A fault of the maths is there at
// once, so a pair of runs tells it from chance, where a test by ranks of losses would need
// hundreds.
//
// What another order explains is measured: reorderings_bench computes the same steps with the sums
// of gradients in 1,000 other orders. The bound is four times the largest difference that it found
// at the step or before. A loss shows a gradient that is averaged wrongly. It does not show a
// weight decay that is wrong, which rounding hides, as ReLU and max pooling turn one choice into
// another after three steps; the norm does, because all parameters shrink together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/judge/finished_runs.h"

namespace regatta {

/// The first step at which the runs differ by more than rounding explains.
struct Departure {
  std::int64_t step = 0;  ///< steps that were taken before
  std::string_view what;  ///< `loss`, or `norm of the parameters`
  double base = 0;
  double head = 0;
};

struct PathComparison {
  bool same_examples = true;  ///< consumed in the same order, as far as the records tell
  std::int64_t steps = 0;     ///< after the first one that were compared; 0 tells nothing
  std::optional<Departure> departure;
};

/// Losses after so many steps are compared, and norms.
inline constexpr std::int64_t kComparedLosses = 8;
inline constexpr std::int64_t kComparedNorms = 16;

/// The largest relative difference between two runs that compute the same, after so many steps.
double loss_bound(std::int64_t steps);
double norm_bound(std::int64_t steps);

/// Whether the strategy is synchronous; of a name that this program does not know nothing is
/// expected.
bool steps_together(const std::string& strategy);

/// Whether both must compute the same: one cell and seed in f32, under a synchronous strategy
/// without backup workers, from equal weights.
bool must_follow(const FinishedRun& base, const FinishedRun& head);

/// Of two runs that must_follow() each other.
PathComparison compare_paths(const FinishedRun& base, const FinishedRun& head);

}  // namespace regatta
