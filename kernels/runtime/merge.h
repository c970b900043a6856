// SPDX-License-Identifier: Apache-2.0
//
// Merges kernels of a lane with a queue, so that one launch does the work of many: the updates of
// all variables, say. A kernel moves forward to the first one that it merges with, past others that
// have nothing to do with it.
#pragma once

#include <span>

#include "kernels/graph/graph.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

struct NodeKernel {
  NodeId id = -1;
  const Node* node = nullptr;
  Kernel* kernel = nullptr;
};

/// `kernels`: in the order of the lane; nothing waits for one of them but the last. Called before
/// the first step.
void merge_kernels(std::span<const NodeKernel> kernels);

}  // namespace regatta
