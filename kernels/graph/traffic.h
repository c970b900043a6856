// SPDX-License-Identifier: Apache-2.0
//
// The bytes and messages of steps, computed from the partitioned graph; transports count the same
// while they run.
#pragma once

#include <cstdint>
#include <map>

#include "kernels/graph/collective.h"
#include "kernels/graph/graph.h"

namespace regatta {

using TrafficByPlace = std::map<Place, MemberTraffic>;

void add(TrafficByPlace& sums, const TrafficByPlace& parts);

/// Bytes and messages of the first `steps` steps, by place. The place of a copy's input sends it,
/// the copy's own place receives it.
TrafficByPlace traffic(const Graph& graph, std::int64_t steps = 1);

/// Bytes sent in the first `steps` steps, summed over places.
std::int64_t bytes_sent(const Graph& graph, std::int64_t steps);

/// Mean bytes sent in a step over the first `steps` steps, summed over places.
double bytes_per_step(const Graph& graph, std::int64_t steps);

/// Bytes that each place sends in its busiest of the first `steps` steps.
std::map<Place, std::int64_t> most_sent_in_a_step(const Graph& graph, std::int64_t steps);

/// Multiply-adds of a product or convolution; 0 for all other nodes.
std::int64_t multiply_adds(const Graph& graph, NodeId id);

/// Cost of a node, for dividing a model among stages: its multiply-adds, plus for each byte that it
/// reads or writes the multiply-adds that take as long. Measured on a core of a Xeon with AVX-512,
/// f32: 150 multiply-adds and 10 bytes a nanosecond (resnet9_thin and airbench94, medians over
/// nodes).
std::int64_t cost(const Graph& graph, NodeId id);

}  // namespace regatta
