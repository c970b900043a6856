// SPDX-License-Identifier: Apache-2.0
//
// The compute times of a cell's stages by the costs of its kernels, and the division of its model
// that makes a step shortest.
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

/// A model's division by stage, or by chunk if stages have several.
struct StageTimes {
  std::vector<std::int64_t> parts;
  std::vector<double> ns;  ///< forward and backward in a step, of replica 0
  double step_ns = 0;      ///< of the cell in virtual time

  /// Formats as `--stage-parts 8,5: 48.0, 47.3 ms of a step of 98 ms`.
  std::string text() const;
};

/// The virtual time of the cell's step with its model divided into `parts`; infinite if it is
/// unknown.
using StepTime = std::function<double(const std::vector<std::int64_t>& parts)>;

struct StageDivisions {
  StageTimes now;
  StageTimes fastest;  ///< `now` if no other that was tried is faster
};

/// Tries the division with the most even times, and then moves single parts between neighbours.
/// `model`: the step before it was placed. `parts`: those of a run's processes; `costs` has their
/// kernels. Empty if the model is in one piece.
std::optional<StageDivisions> stage_divisions(const Graph& model, std::span<const Step> parts,
                                              const virtual_time::KernelCosts& costs,
                                              int threads_per_worker, const StepTime& step_ns);

}  // namespace regatta
