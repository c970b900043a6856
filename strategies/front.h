// SPDX-License-Identifier: Apache-2.0
//
// Moves exchanges of values from the previous step to the front of a step, so that they begin
// before the forward pass and run in parallel with the step.
#pragma once

#include <set>

#include "kernels/graph/graph.h"

namespace regatta {

/// Returns the step with `nodes`, and the nodes that they depend on, moved to the front in their
/// old order. The variables that these nodes read must already be final when a step begins.
Step in_front(const Step& step, std::set<NodeId> nodes);

}  // namespace regatta
