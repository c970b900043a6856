// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/traffic.h"

#include <algorithm>
#include <map>
#include <set>

#include "kernels/graph/period.h"

namespace regatta {
namespace {

std::int64_t output_bytes(const Node& node) {
  std::int64_t bytes = 0;
  for (const TensorType& type : node.outputs) bytes += type.bytes();
  return bytes;
}

constexpr std::int64_t kMultiplyAddsPerByte = 15;  // traffic.h

}  // namespace

void add(TrafficByPlace& sums, const TrafficByPlace& parts) {
  for (const auto& [place, part] : parts) sums[place] += part;
}

TrafficByPlace traffic(const Graph& graph, std::int64_t steps) {
  TrafficByPlace all;
  std::map<Period, std::int64_t> due;  // draws take a while to count
  for (const Node& node : graph.nodes()) {
    const auto [entry, is_new] = due.try_emplace(period_of(node));
    if (is_new) entry->second = entry->first.due_in(steps);
    const std::int64_t times = entry->second;
    if (node.op == Op::Copy) {
      const std::int64_t bytes = times * output_bytes(node);
      all[graph.place_of(node.inputs[0].node)] += {.sent = bytes, .received = 0, .messages = 0};
      all[node.place] += {.sent = 0, .received = bytes, .messages = times};
    } else if (node.op == Op::Send) {
      std::int64_t bytes = 0;
      for (Value input : node.inputs) bytes += graph.type(input).bytes();
      all[node.place] += {.sent = times * bytes, .received = 0, .messages = 0};
    } else if (node.op == Op::Receive) {
      all[node.place] += {.sent = 0, .received = times * output_bytes(node), .messages = times};
    } else if (is_collective(node.op)) {
      const MemberTraffic one = member_traffic(collective_shape(graph, node), node.member);
      all[node.place] += {.sent = times * one.sent,
                          .received = times * one.received,
                          .messages = times * one.messages};
    }
  }
  return all;
}

std::int64_t bytes_sent(const Graph& graph, std::int64_t steps) {
  std::int64_t bytes = 0;
  for (const auto& [place, part] : traffic(graph, steps)) bytes += part.sent;
  return bytes;
}

/// Of the first step, and of those in which each period is due for the first time behind its start:
/// exact where the exchanges of a graph that are rarer than a step have one period.
std::int64_t most_sent_in_a_step(const Graph& graph, const Place& place, std::int64_t steps) {
  std::set<std::int64_t> looked_at{0};
  for (const Node& node : graph.nodes()) {
    looked_at.insert(period_of(node).first_behind_start());
  }
  const auto sent_in = [&](std::int64_t first) {
    const TrafficByPlace all = traffic(graph, first);
    const auto found = all.find(place);
    return found == all.end() ? 0 : found->second.sent;
  };
  std::int64_t most = 0;
  for (const std::int64_t step : looked_at) {
    if (step < steps) most = std::max(most, sent_in(step + 1) - sent_in(step));
  }
  return most;
}

double bytes_per_step(const Graph& graph, std::int64_t steps) {
  return static_cast<double>(bytes_sent(graph, steps)) / static_cast<double>(steps);
}

std::int64_t multiply_adds(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto inputs = [&](std::size_t i) { return graph.type(node.inputs[i]); };
  switch (node.op) {
    case Op::Dense: return node.outputs[0].elements() * inputs(0).dim(1);
    case Op::DenseBackwardData: return node.outputs[0].elements() * inputs(0).dim(1);
    case Op::DenseBackwardWeights: return node.outputs[0].elements() * inputs(0).dim(0);
    case Op::Convolution:
      return node.outputs[0].elements() * inputs(1).elements() / inputs(1).dim(0);
    case Op::ConvolutionBackwardData:
      return inputs(0).elements() * inputs(1).elements() / inputs(1).dim(0);
    case Op::ConvolutionBackwardWeights:
      return inputs(0).elements() * node.outputs[0].elements() / node.outputs[0].dim(0);
    default: return 0;
  }
}

std::int64_t cost(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (op_info(node.op).view) return 0;
  std::int64_t bytes = output_bytes(node);
  for (Value input : node.inputs) bytes += graph.type(input).bytes();
  return multiply_adds(graph, id) + kMultiplyAddsPerByte * bytes;
}

}  // namespace regatta
