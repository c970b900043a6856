// SPDX-License-Identifier: Apache-2.0
//
// How long the stages of a cell compute by what its kernels take, and how its model would have to
// be divided for a step to be as short as can be.
#pragma once

#include <cstdint>
#include <functional>
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
  double step_ns = 0;      ///< of the cell in virtual time

  /// `--stage-parts 8,5: 48.0, 47.3 ms of a step of 98 ms`
  std::string text() const;
};

/// What a step of the cell takes in virtual time when its model is divided so; infinite where that
/// is not known.
using StepTime = std::function<double(const std::vector<std::int64_t>& parts)>;

struct StageDivisions {
  StageTimes now;
  StageTimes fastest;  ///< `now` where none that was tried is faster
};

/// Tries the division that is even by time, and then moves single parts between neighbours.
/// `model`: the step before it was placed. `parts`: of a run's processes; `costs` has their
/// kernels. Empty where the model is in one piece.
std::optional<StageDivisions> stage_divisions(const Graph& model, std::span<const Step> parts,
                                              const virtual_time::KernelCosts& costs,
                                              int threads_per_worker, const StepTime& step_ns);

}  // namespace regatta
