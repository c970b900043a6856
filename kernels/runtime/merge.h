// SPDX-License-Identifier: Apache-2.0
//
// Merges kernels of a lane with a queue, so that one launch does the work of many: the updates of
// all variables, say. A kernel moves forward to the first one that it merges with, past others that
// have nothing to do with it. One that makes a value moves only past what reads no values: else its
// memory might still be another's (memory_plan.h).
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
  bool reads_values = false;           ///< has inputs that are no variables
};

/// With what the graph says of the node's inputs.
NodeKernel node_kernel(const Graph& graph, NodeId id, Kernel& kernel);

/// `kernels`: in the order of the lane; nothing waits for one of them but the last. Called before
/// the first step.
void merge_kernels(std::span<const NodeKernel> kernels);

}  // namespace regatta
