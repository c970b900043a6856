// SPDX-License-Identifier: Apache-2.0
//
// Bytes and messages that steps send, computed from the partitioned graph. Transports count them
// while they run; both counts must agree.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kernels/graph/collective.h"
#include "kernels/graph/graph.h"

namespace regatta {

using TrafficByPlace = std::map<Place, MemberTraffic>;

void add(TrafficByPlace& sums, const TrafficByPlace& parts);

/// Returns the bytes and messages of the first `steps` steps, by place. A copy is sent by the place
/// of its input and received by its own place.
TrafficByPlace traffic(const Graph& graph, std::int64_t steps = 1);

/// Collectives, and the bytes that their members in a graph send each time.
struct CollectiveTraffic {
  std::int64_t collectives = 0;
  std::int64_t sent = 0;
};

/// Returns the traffic of a partitioned graph by the coordinates in which the members of a
/// collective differ, such as `replicas` (differences_between()).
std::map<std::string, CollectiveTraffic> traffic_between(const Graph& graph);

/// Returns the bytes sent in the first `steps` steps, summed over places.
std::int64_t bytes_sent(const Graph& graph, std::int64_t steps);

/// Returns the same with the places that are not built (Step::alike).
std::int64_t bytes_sent_by_all(const Step& step, std::int64_t steps);

/// Returns the mean bytes sent in a step over the first `steps` steps, summed over places.
double bytes_per_step(const Graph& graph, std::int64_t steps);

/// Returns, for each place, the bytes it sends in the busiest of its first `steps` steps.
std::map<Place, std::int64_t> most_sent_in_a_step(const Graph& graph, std::int64_t steps);

/// Returns the number of multiply-adds of a dense or convolution node, forward or backward; 0 for
/// all other nodes.
std::int64_t multiply_adds(const Graph& graph, NodeId id);

/// Returns the model FLOPs of a step as its workload builds it: two floating-point operations for
/// each multiply-add of the forward and backward passes. Updates do not count.
/// Source: A. Chowdhery et al., PaLM, arXiv:2204.02311, appendix B.
double model_flops(const Graph& graph);

/// Returns the cost of a node, for dividing a model among stages: its multiply-adds, plus the bytes
/// that it reads and writes, converted into the number of multiply-adds that take the same time.
/// Source of the rates, 150 multiply-adds and 10 bytes per nanosecond: measured on one core of a
/// Xeon with AVX-512, f32 (resnet9_thin and airbench94, medians over nodes).
std::int64_t cost(const Graph& graph, NodeId id);

}  // namespace regatta
