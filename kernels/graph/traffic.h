// SPDX-License-Identifier: Apache-2.0
//
// What a partitioned graph sends in one step, computed from the graph; the transports count the
// same while it runs.
#pragma once

#include <cstdint>
#include <map>

#include "kernels/graph/collective.h"
#include "kernels/graph/graph.h"

namespace regatta {

using TrafficByPlace = std::map<Place, MemberTraffic>;

void add(TrafficByPlace& sums, const TrafficByPlace& parts);

/// Bytes and messages by place. A copy is sent by the place of its value and received by its own.
TrafficByPlace traffic(const Graph& graph);

/// The sum over places of what is sent. Units: bytes.
std::int64_t bytes_per_step(const Graph& graph);

/// Multiply-adds of a node, for dealing layers to stages; memory-bound nodes count an element each.
std::int64_t cost(const Graph& graph, NodeId id);

}  // namespace regatta
