// SPDX-License-Identifier: Apache-2.0
//
// How a run chooses cuDNN's engines for its convolutions on a GPU: by timed trials before the clock
// starts, or, on request, the first of the heuristics' engines that runs. That engine is the same
// in every run and so gives the same bits.
#pragma once

#include <optional>
#include <string>

#include "harness/plan/placement.h"
#include "kernels/runtime/devices.h"

namespace regatta {

/// Applies --cudnn-engine; empty if the CPU computes.
/// Throws: RunError(Usage) for an unknown rule, and for any rule if the CPU computes.
std::optional<EngineRule> engine_rule_of(const RaceRequest& request);

/// The rule for the run's GPU kernels. Without a rule it is Heuristic, which is then unused.
EngineRule engines_of(const Placement& placement);

/// Returns `timed` or `heuristic`.
std::string to_string(EngineRule rule);

}  // namespace regatta
