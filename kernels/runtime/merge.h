// SPDX-License-Identifier: Apache-2.0
//
// Merges kernels of a lane with a queue, so that one launch does the work of many: the updates of
// all variables, for example. A kernel moves forward to the first one that it merges with, past
// others that it does not depend on. If it makes a value, neither it nor any kernel on the way
// may read values, because these might lie in the memory of its output (memory_plan.h).
#pragma once

#include <span>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

struct NodeKernel {
  NodeId id = -1;
  Node node;
  Kernel* kernel = nullptr;
  std::vector<VariableId> views = {};  ///< variables that its inputs are views of
  bool reads_values = false;           ///< has inputs that are not variables
};

/// A node and its kernel, with the graph's facts about the node's inputs.
NodeKernel node_kernel(const Graph& graph, NodeId id, Kernel& kernel);

/// `kernels`: in the order of the lane; no other lane waits for one of them except the last. Called
/// before the first step.
void merge_kernels(std::span<const NodeKernel> kernels);

}  // namespace regatta
