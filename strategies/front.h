// SPDX-License-Identifier: Apache-2.0
//
// For exchanges of what the last step has left: they begin before the forward pass and run beside
// the step.
#pragma once

#include <set>

#include "kernels/graph/graph.h"

namespace regatta {

/// The same step with these nodes at the front, and with them what they are made of, in the order
/// in which they stand. What they read of variables has to be there when a step begins.
Step in_front(const Step& step, std::set<NodeId> nodes);

}  // namespace regatta
