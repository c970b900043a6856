// SPDX-License-Identifier: Apache-2.0
//
// The bytes and messages of one step, computed from the partitioned graph; transports count the
// same while it runs.
#pragma once

#include <cstdint>
#include <map>

#include "kernels/graph/collective.h"
#include "kernels/graph/graph.h"

namespace regatta {

using TrafficByPlace = std::map<Place, MemberTraffic>;

void add(TrafficByPlace& sums, const TrafficByPlace& parts);

/// Bytes and messages by place. The place of a copy's input sends it, the copy's own place receives
/// it.
TrafficByPlace traffic(const Graph& graph);

/// Bytes sent in one step, summed over places.
std::int64_t bytes_per_step(const Graph& graph);

/// Cost of a node in multiply-adds, for dividing layers among stages; a memory-bound node counts
/// one for each element.
std::int64_t cost(const Graph& graph, NodeId id);

}  // namespace regatta
