// SPDX-License-Identifier: Apache-2.0
//
// Which runs compute convolutions by Winograd's algorithm (kernels/graph/winograd.h): those
// on a CPU of which a layer gains.
#pragma once

#include <string>

#include "harness/plan/placement.h"

namespace regatta {

/// Why none of the run's convolutions is computed so; empty: some can be.
std::string why_not_winograd(const RaceRequest& request, const Placement& placement);

/// As --winograd asks: `auto` is `on` where it can be, but for bf16 where the processor has AMX.
/// Throws: RunError(Usage) for `on` where it cannot.
UseWinograd use_of_winograd(const RaceRequest& request, const Placement& placement);

}  // namespace regatta
