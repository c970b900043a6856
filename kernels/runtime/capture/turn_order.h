// SPDX-License-Identifier: Apache-2.0
//
// The order in which one thread enqueues the nodes of a loop's lanes: each lane's nodes in the
// lane's order, no node before those that it waits for, and all members of a shared launch
// (queued_exchange.h) in one turn. Ties go to the order of the graph, which alone does not suffice:
// in it, a node that follows a shared launch at one member may precede another member.
#pragma once

#include <compare>
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/capture/queued_exchange.h"

namespace regatta {

/// The position of a node in the loop's lanes.
struct Stand {
  std::size_t lane = 0;   ///< among the loop's lanes
  std::size_t index = 0;  ///< in the lane
  auto operator<=>(const Stand&) const = default;
};

struct QueuedNode {
  NodeId node = -1;
  std::vector<Stand> waits;                     ///< nodes that come first
  const SharedLaunch* shared_launch = nullptr;  ///< null: the node has none
};

/// The members of a shared launch, or one node.
using Turn = std::vector<Stand>;

/// `lanes`: the nodes of each lane. Aborts if no order exists because nodes wait in a cycle or
/// lanes come to their meetings in different orders, which is a bug in the graph.
std::vector<Turn> order_turns(std::span<const std::vector<QueuedNode>> lanes);

}  // namespace regatta
