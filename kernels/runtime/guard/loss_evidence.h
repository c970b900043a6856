// SPDX-License-Identifier: Apache-2.0
//
// The evidence for a loss that is not finite: the nodes that made it, and values that came to them
// from elsewhere and will not come again. If the loss is a sum over microbatches, each term is
// checked by itself, before the memory of its microbatch is reused.
#pragma once

#include <set>

#include "kernels/runtime/plan.h"

namespace regatta {

/// The nodes of the loss's lane that it is computed from, without those behind another loss that
/// the lane checks.
std::set<NodeId> nodes_behind(const Graph& graph, const Plan& plan, Value loss);

/// The values that came to these nodes from another lane or place, without gathered parameters that
/// are freed.
std::set<Value> evidence_of(const Graph& graph, const Plan& plan, Value loss);

}  // namespace regatta
