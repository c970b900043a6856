// SPDX-License-Identifier: Apache-2.0
//
// How a run's convolutions on a GPU come to their engines of cuDNN: by trials before the clock
// starts unless it asks for the heuristics' first, which is the same in every run and so gives the
// same bits.
#pragma once

#include <optional>
#include <string>

#include "harness/plan/placement.h"
#include "kernels/runtime/devices.h"

namespace regatta {

/// As --cudnn-engine asks. Nothing where the CPU computes.
/// Throws: RunError(Usage) for an unknown rule, and for any where the CPU computes.
std::optional<EngineRule> engine_rule_of(const RaceRequest& request);

/// For the kernels of the run's processes that compute on GPUs; whichever where none does.
EngineRule engines_of(const Placement& placement);

/// `timed`, `heuristic`.
std::string to_string(EngineRule rule);

}  // namespace regatta
