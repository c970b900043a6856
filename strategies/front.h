// SPDX-License-Identifier: Apache-2.0
//
// For exchanges of values that the last step left: they begin before the forward pass and run in
// parallel with the step.
#pragma once

#include <set>

#include "kernels/graph/graph.h"

namespace regatta {

/// Returns the step with these nodes at the front, together with the nodes that they depend on, in
/// their order. The variables that these read must be complete when a step begins.
Step in_front(const Step& step, std::set<NodeId> nodes);

}  // namespace regatta
