// SPDX-License-Identifier: Apache-2.0
//
// What is looked at when a loss is not finite: the nodes that made it and the values that came to
// them from elsewhere, which do not come a second time. Of a sum of microbatches' losses each is
// looked at by itself, before the memory of its microbatch is used again.
#pragma once

#include <set>

#include "kernels/runtime/plan.h"

namespace regatta {

/// The nodes of a loss's lane that it is made from, none behind another loss that the lane looks
/// at.
std::set<NodeId> nodes_behind(const Graph& graph, const Plan& plan, Value loss);

/// The values that came to these nodes from another lane or place; no gathered parameters that are
/// freed.
std::set<Value> evidence_of(const Graph& graph, const Plan& plan, Value loss);

}  // namespace regatta
