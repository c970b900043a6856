// SPDX-License-Identifier: Apache-2.0
//
// The patterns that fuse() looks for (listed in fuse.h), and the fused nodes that replace them.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta {

/// A value of the source graph, and the index of the fused node's output that replaces it.
using FusedOutput = std::pair<Value, int>;

/// A fused node and the nodes of the source graph (`members`) that it replaces. The inputs of
/// `node` are values of the source graph; a default Value stands for the pixels that a max_pool
/// after the activation picked, which only the fused forward node outputs.
struct FusedNode {
  Node node;
  std::vector<NodeId> members;
  std::vector<FusedOutput> outputs;
};

struct FusedBlock {
  FusedNode forward;
  std::optional<FusedNode> backward;
};

/// Returns the blocks to fuse, ordered by where their normalisation or bias appears in the step. No
/// node is in two blocks.
std::vector<FusedBlock> find_blocks(const Step& step);

}  // namespace regatta
