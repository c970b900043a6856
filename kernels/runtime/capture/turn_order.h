// SPDX-License-Identifier: Apache-2.0
//
// In which order one thread puts the nodes of a loop's lanes into their queues: each lane's in the
// lane's order, none before those that it waits for, and all members of a meeting
// (queued_exchange.h) in one turn. The graph's own order need not do: what follows a meeting at one
// member may stand in it before another member. Where there is a choice it decides.
#pragma once

#include <compare>
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/capture/queued_exchange.h"

namespace regatta {

/// Where a node runs.
struct Stand {
  std::size_t lane = 0;   ///< of the loop's
  std::size_t index = 0;  ///< in it
  auto operator<=>(const Stand&) const = default;
};

struct QueuedNode {
  NodeId node = -1;
  std::vector<Stand> waits;          ///< for these
  const Meeting* meeting = nullptr;  ///< null: it takes part in none
};

/// Of the members of a meeting, or of one node.
using Turn = std::vector<Stand>;

/// `lanes`: the nodes of each. Aborts where no order can be: nodes wait in a circle, or lanes do
/// not come to their meetings in one order, which is a bug of who made the graph.
std::vector<Turn> order_turns(std::span<const std::vector<QueuedNode>> lanes);

}  // namespace regatta
