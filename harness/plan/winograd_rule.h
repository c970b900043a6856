// SPDX-License-Identifier: Apache-2.0
//
// Decides whether a run uses Winograd's algorithm for convolutions (kernels/rewrite/winograd.h). It
// may if it computes on a CPU and has at least one layer for which the algorithm is faster.
#pragma once

#include <string>

#include "harness/plan/placement.h"

namespace regatta::plan {

/// Returns the reason why no convolution of the run can use Winograd's algorithm; empty if some
/// can. `built` is the graph after the pass `build`.
std::string why_not_winograd(const RaceRequest& request, const Graph& built);

/// Returns whether to use the algorithm under --winograd: `auto` uses it if possible, except for
/// bf16 on a CPU with AMX. Throws: RunError(Usage) for `on` if no convolution can use the
/// algorithm.
UseWinograd use_of_winograd(const RaceRequest& request, const Placement& placement,
                            const Graph& built);

}  // namespace regatta::plan
