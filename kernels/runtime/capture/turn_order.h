// SPDX-License-Identifier: Apache-2.0
//
// Chooses the order in which one thread enqueues the nodes of a loop's lanes: each lane's nodes in
// the lane's order, no node before those that it waits for, and all members of a shared launch
// (queued_exchange.h) in one turn. Among the nodes that are ready, the first in the graph comes
// first. The order of the graph alone does not suffice, because a node that follows one member of a
// shared launch may precede another member there.
#pragma once

#include <compare>
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/capture/queued_exchange.h"

namespace regatta {

struct Stand {
  std::size_t lane = 0;   ///< index among the loop's lanes
  std::size_t index = 0;  ///< index of the node in the lane
  auto operator<=>(const Stand&) const = default;
};

struct QueuedNode {
  NodeId node = -1;
  std::vector<Stand> waits;                     ///< nodes that must come before this node
  const SharedLaunch* shared_launch = nullptr;  ///< null: the node has none
};

/// The nodes that are enqueued together: all members of a shared launch, or a single node.
using Turn = std::vector<Stand>;

/// Returns the turns in order. `lanes[i]` holds the nodes of lane i. Aborts if no order exists,
/// because nodes wait in a cycle or lanes reach their shared launches in different orders, which is
/// a bug in the graph.
std::vector<Turn> order_turns(std::span<const std::vector<QueuedNode>> lanes);

}  // namespace regatta
