// SPDX-License-Identifier: Apache-2.0
//
// Merges kernels of a lane with a queue, so that one launch does the work of many: for example the
// updates of all variables. A kernel moves forward in the lane to the first earlier kernel that it
// merges with, past kernels that it does not depend on. If the moved kernel makes a value, neither
// it nor any kernel that it passes or joins may read values, because the memory of its output may
// still hold them (memory_plan.h).
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
  std::vector<VariableId> views = {};  ///< the variables that the node's inputs are views of
  bool reads_values = false;           ///< whether the node has inputs that are not variables
};

/// Describes node `id` and its kernel for merge_kernels(): finds in the graph which of the node's
/// inputs are views of variables.
NodeKernel node_kernel(const Graph& graph, NodeId id, Kernel& kernel);

/// Merges neighbouring kernels of one lane. `kernels` are in the lane's order, and no other lane
/// may wait for one of them except the last. Called before the first step.
void merge_kernels(std::span<const NodeKernel> kernels);

}  // namespace regatta
