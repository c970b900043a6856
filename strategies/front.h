// SPDX-License-Identifier: Apache-2.0
//
// Moves exchanges that need only values of the previous step to the front of a step, so that they
// start before the forward pass and overlap with the step.
#pragma once

#include <set>

#include "kernels/graph/graph.h"

namespace regatta::strategies {

/// Returns the step with `nodes`, and the nodes that they depend on, moved to the front in their
/// original order. Precondition: the variables that these nodes read already have their final
/// values when a step begins.
Step in_front(const Step& step, std::set<NodeId> nodes);

}  // namespace regatta::strategies
