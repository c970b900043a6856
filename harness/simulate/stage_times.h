// SPDX-License-Identifier: Apache-2.0
//
// How long the stages of a cell compute by what its kernels take, and how its model would have to
// be divided for them to compute as evenly as its parts allow.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/virtual/kernel_costs.h"

namespace regatta {

/// A model's division, by stage, or by chunk where stages have several.
struct StageTimes {
  std::vector<std::int64_t> parts;
  std::vector<double> ns;  ///< forward and backward in a step, of replica 0

  /// `--stage-parts 8,5: 48.0, 47.3 ms`
  std::string text() const;
};

struct StageBalance {
  StageTimes now;
  StageTimes even;
};

/// `model`: the step before it was placed. `parts`: of a run's processes; `costs` has their
/// kernels. Empty where the model is in one piece.
std::optional<StageBalance> stage_balance(const Graph& model, std::span<const Step> parts,
                                          const virtual_time::KernelCosts& costs,
                                          int threads_per_worker);

}  // namespace regatta
