// SPDX-License-Identifier: Apache-2.0
//
// The table of passes, which build a step and rewrite it, from the workload's own step to one step
// per process. The table gives the reason for each pass's position. One loop runs the passes,
// verifies each result and measures the time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/distribute/partition.h"
#include "kernels/graph/graph.h"
#include "strategies/strategy.h"

namespace regatta::strategies {

/// The settings that the passes of a run read.
struct PassInput {
  std::function<Step()> build = {};  ///< builds the workload's step
  bool fuse = false;
  std::vector<const Strategy*> strategies = {};
  StrategyOptions options = {};
  bool winograd = false;
  Binding binding = {};
};

struct StepPass {
  std::string_view name;
  /// Returns the steps after the pass: one, or one per process; none if the pass has no effect.
  std::vector<Step> (*run)(const Step& step, const PassInput& input);
  std::string_view why_here;
};

std::span<const StepPass> all_passes();

/// Called after each pass with its time, verification included, and the resulting steps. Units: ns.
using PassWatch =
    std::function<void(const StepPass&, std::int64_t ns, std::span<const Step> steps)>;

/// Runs the passes from `first` to `last` on a step, with verify() after each. Returns the steps
/// after the last one. Throws: RunError(Usage) with the broken rule if a strategy cannot be
/// applied.
std::vector<Step> run_passes(std::string_view first, std::string_view last, const Step& step,
                             const PassInput& input, const PassWatch& watch = {});

/// Runs the passes on a built step, from the one named `strategies` to the one named `clip`.
Step apply(std::span<const Strategy* const> strategies, const Step& step,
           const StrategyOptions& options);

/// Runs the passes `peers` and `partition` on a placed step. Returns one step per process.
std::vector<Step> partitioned(const Step& placed, const Binding& binding);

}  // namespace regatta::strategies
