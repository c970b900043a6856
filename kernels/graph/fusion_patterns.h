// SPDX-License-Identifier: Apache-2.0
//
// The patterns that fuse() looks for (listed in fuse.h), and the fused nodes that replace them.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta {

/// A value of the source and the index of the fused node's output that replaces it.
using FusedOutput = std::pair<Value, int>;

/// Nodes of the source that become one. Inputs are values of the source; a default Value stands for
/// the pixels that a max_pool behind the activation picked, which the source does not have.
struct FusedNode {
  Node node;
  std::vector<NodeId> members;
  std::vector<FusedOutput> outputs;
};

struct FusedBlock {
  FusedNode forward;
  std::optional<FusedNode> backward;
};

/// Returns blocks that share no node, in the order of their normalisations and biases.
std::vector<FusedBlock> find_blocks(const Step& step);

}  // namespace regatta
