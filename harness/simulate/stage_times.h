// SPDX-License-Identifier: Apache-2.0
//
// The compute times of a cell's pipeline stages, from the costs of its kernels, and the division of
// its model into stages that makes a step shortest.
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

/// A division of a model into stages, or into chunks if a stage has several. Each vector has an
/// entry per stage or chunk.
struct StageTimes {
  std::vector<std::int64_t> parts;  ///< number of the model's parts
  std::vector<double> ns;           ///< of forward and backward passes in a step, of replica 0
  double step_ns = 0;               ///< of the whole cell's step, in virtual time

  /// Formats as `--stage-parts 8,5: 48.0, 47.3 ms of a step of 98 ms`.
  std::string text() const;
};

/// Returns the virtual time of the cell's step with its model divided into `parts`; infinite if the
/// time is unknown. Units: ns.
using StepTime = std::function<double(const std::vector<std::int64_t>& parts)>;

struct StageDivisions {
  StageTimes now;
  StageTimes fastest;  ///< the fastest division tried, which may be `now`
};

/// Compares the cell's division with the fastest that a search finds: starting from the present
/// division and from the one with the most even times, it moves single parts between neighbours.
/// `model` is the graph before it was placed. `parts[p]` is the step of process p, whose kernels
/// all have entries in `costs`. Empty if the model is not divided.
std::optional<StageDivisions> stage_divisions(const Graph& model, std::span<const Step> parts,
                                              const virtual_time::KernelCosts& costs,
                                              int threads_per_worker, const StepTime& step_ns);

}  // namespace regatta
