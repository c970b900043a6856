// SPDX-License-Identifier: Apache-2.0
//
// Do two runs of one seed compute the same? A synchronous run is a function of its seed, so the
// losses of its first steps are equal to the bit, or differ by what another order of additions
// explains. That begins at the rounding of f32 and grows from step to step as training amplifies
// it; a gradient that is averaged wrongly is there at once. So this tells a fault of the maths from
// chance with a pair of runs, where a test by ranks of losses would need hundreds.
//
// Measured on resnet9_thin, `single` against all_reduce against model_parallel (24 pairs of runs,
// results/xeon-*/quick), the largest relative difference at steps 0, 2, 4, 6, 8:
// 1e-7, 0, 6e-6, 3e-5, 3e-4. The tolerance is 16 roundings, three times more with each step:
// 1e-6, 9e-6, 8e-5, 7e-4, 6e-3. With the gradient of one of two workers halved the first
// difference is 2e-4 to 1e-3 on resnet9_thin, at step 2, and 8e-3 to 4e-2 on the parabola.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/judge/finished_runs.h"

namespace regatta {

/// The first step whose losses differ by more than rounding explains.
struct Departure {
  std::int64_t step = 0;
  double base = 0;  ///< the losses
  double head = 0;
};

struct PathComparison {
  bool same_examples = true;  ///< consumed in the same order, as far as the records tell
  std::int64_t steps = 0;  ///< after the first one that were compared; 0 tells nothing
  std::optional<Departure> departure;
};

/// Whether the strategy is synchronous; of a name that this program does not know nothing is
/// expected.
bool steps_together(const std::string& strategy);

/// Whether both must compute the same: one cell and seed in f32, under a synchronous strategy
/// without backup workers, from equal weights.
bool must_follow(const FinishedRun& base, const FinishedRun& head);

/// Of two runs that must_follow() each other.
PathComparison compare_paths(const FinishedRun& base, const FinishedRun& head);

}  // namespace regatta
