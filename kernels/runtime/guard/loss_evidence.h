// SPDX-License-Identifier: Apache-2.0
//
// Keeps the evidence to diagnose a loss that is not finite: the nodes that made the loss, which the
// diagnosis reruns, and the values that they received from elsewhere, which cannot be received
// again. If the loss is a sum over microbatches, each term is checked separately, before the memory
// of its microbatch is reused.
#pragma once

#include <set>

#include "kernels/runtime/plan.h"

namespace regatta {

/// Returns the nodes in the loss's lane that the loss is computed from, except those behind another
/// loss that the lane checks.
std::set<NodeId> nodes_behind(const Graph& graph, const Plan& plan, Value loss);

/// Returns the values that the loss's nodes_behind() receive from another lane or place, except
/// gathered parameters that are freed within the step.
std::set<Value> evidence_of(const Graph& graph, const Plan& plan, Value loss);

}  // namespace regatta
