// SPDX-License-Identifier: Apache-2.0
//
// The patterns that fuse() looks for (listed in fuse.h), and the nodes that take their place.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta {

/// A value of the source and the output of the fused node that it becomes.
using FusedOutput = std::pair<Value, int>;

/// Nodes of the source that become one. Inputs are values of the source; one that does not exist
/// stands for what the forward node picked where pooling comes last, which the source never holds.
struct FusedNode {
  Node node;
  std::vector<NodeId> members;
  std::vector<FusedOutput> outputs;
};

struct FusedBlock {
  FusedNode forward;
  std::optional<FusedNode> backward;
};

/// Blocks that share no node, in the order of their normalisations and biases.
std::vector<FusedBlock> find_blocks(const Step& step);

}  // namespace regatta
