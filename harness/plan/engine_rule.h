// SPDX-License-Identifier: Apache-2.0
//
// Decides how a run chooses cuDNN's engines for its convolutions on a GPU. By default it times
// several engines before the clock starts. With `--cudnn-engine heuristic` it takes the first
// engine of cuDNN's heuristics that can run; this is the same engine in every run, so that results
// are bitwise reproducible.
#pragma once

#include <optional>
#include <string>

#include "harness/plan/placement.h"
#include "kernels/runtime/devices.h"

namespace regatta::plan {

/// Returns the rule of --cudnn-engine, or the default; empty if the device is a CPU.
/// Throws: RunError(Usage) for an unknown rule, and for any rule if the device is a CPU.
std::optional<EngineRule> engine_rule_of(const RaceRequest& request);

/// Returns the rule for the run's GPU kernels. For a run on CPUs it returns Heuristic, which then
/// has no effect.
EngineRule engines_of(const Placement& placement);

/// Returns `timed` or `heuristic`.
std::string to_string(EngineRule rule);

}  // namespace regatta::plan
