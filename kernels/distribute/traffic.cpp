// SPDX-License-Identifier: Apache-2.0
#include "kernels/distribute/traffic.h"

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

/// Traffic of one step in which the nodes of a period take part, by place.
using TrafficByPeriod = std::map<Place, std::map<Period, MemberTraffic>>;

TrafficByPeriod traffic_by_period(const Graph& graph) {
  TrafficByPeriod all;
  for (const Node& node : graph.nodes()) {
    const auto add_at = [&](const Place& place, const MemberTraffic& one) {
      all[place][period_of(node)] += one;
    };
    if (node.op == Op::Copy) {
      const std::int64_t bytes = output_bytes(node);
      add_at(graph.node(node.inputs[0].node).place, {.sent = bytes, .received = 0, .messages = 0});
      add_at(node.place, {.sent = 0, .received = bytes, .messages = 1});
    } else if (node.op == Op::Send) {
      std::int64_t bytes = 0;
      for (Value input : node.inputs) bytes += graph.type(input).bytes();
      add_at(node.place, {.sent = bytes, .received = 0, .messages = 0});
    } else if (node.op == Op::Receive) {
      add_at(node.place, {.sent = 0, .received = output_bytes(node), .messages = 1});
    } else if (is_collective(node.op)) {
      add_at(node.place, member_traffic(collective_shape(graph, node), node.member));
    }
  }
  return all;
}

}  // namespace

void add(TrafficByPlace& sums, const TrafficByPlace& parts) {
  for (const auto& [place, part] : parts) sums[place] += part;
}

TrafficByPlace traffic(const Graph& graph, std::int64_t steps) {
  TrafficByPlace all;
  std::map<Period, std::int64_t> due;  // counting the steps of a draw takes long
  for (const auto& [place, periods] : traffic_by_period(graph)) {
    for (const auto& [period, one] : periods) {
      const auto [entry, is_new] = due.try_emplace(period);
      if (is_new) entry->second = period.due_in(steps);
      const std::int64_t times = entry->second;
      all[place] += {.sent = times * one.sent,
                     .received = times * one.received,
                     .messages = times * one.messages};
    }
  }
  return all;
}

std::map<std::string, CollectiveTraffic> traffic_between(const Graph& graph) {
  std::map<std::string, CollectiveTraffic> all;
  std::set<std::int64_t> counted;
  for (const Node& node : graph.nodes()) {
    if (!is_collective(node.op) || !node.attributes.has("between")) continue;
    CollectiveTraffic& part = all[node.attributes.text("between")];
    part.sent += member_traffic(collective_shape(graph, node), node.member).sent;
    if (counted.insert(node.attributes.integer("group")).second) ++part.collectives;
  }
  return all;
}

std::int64_t bytes_sent(const Graph& graph, std::int64_t steps) {
  std::int64_t bytes = 0;
  for (const auto& [place, part] : traffic(graph, steps)) bytes += part.sent;
  return bytes;
}

/// Members for which one stands may send more or less than it does.
std::int64_t bytes_sent_by_all(const Step& step, std::int64_t steps) {
  const std::int64_t places = step.alike.places();
  std::int64_t bytes = bytes_sent(step.graph, steps) * places;
  for (const Node& node : step.graph.nodes()) {
    if (!is_collective(node.op) || alike_members(node).places() == 1) continue;
    const CollectiveShape shape = collective_shape(step.graph, node);
    const std::int64_t own = member_traffic(shape, node.member).sent;
    std::int64_t more = 0;
    for (const std::int64_t m : members_of(node)) more += member_traffic(shape, m).sent - own;
    bytes += more * places / alike_members(node).places() * period_of(node).due_in(steps);
  }
  return bytes;
}

/// Looks at the first step and at the first due step of each period; exact if all exchanges that
/// skip steps have one period.
std::map<Place, std::int64_t> most_sent_in_a_step(const Graph& graph, std::int64_t steps) {
  std::set<std::int64_t> looked_at{0};
  for (const Node& node : graph.nodes()) {
    looked_at.insert(period_of(node).first_behind_start());
  }
  std::map<Place, std::int64_t> all;
  for (const auto& [place, periods] : traffic_by_period(graph)) {
    std::int64_t& most = all[place];
    for (const std::int64_t step : looked_at) {
      std::int64_t sent = 0;
      for (const auto& [period, one] : periods) {
        if (step < steps && period.is_due(step)) sent += one.sent;
      }
      most = std::max(most, sent);
    }
  }
  return all;
}

double bytes_per_step(const Graph& graph, std::int64_t steps) {
  return static_cast<double>(bytes_sent(graph, steps)) / static_cast<double>(steps);
}

std::int64_t multiply_adds(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const WorkRule rule = op_info(node.op).multiply_adds;
  return rule == nullptr ? 0 : rule(graph, node);
}

double model_flops(const Graph& graph) {
  double products = 0;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    if (graph.node(id).phase == Phase::Update) continue;
    products += static_cast<double>(multiply_adds(graph, id));
  }
  return 2 * products;
}

std::int64_t cost(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (op_info(node.op).view) return 0;
  std::int64_t bytes = output_bytes(node);
  for (Value input : node.inputs) bytes += graph.type(input).bytes();
  return multiply_adds(graph, id) + kMultiplyAddsPerByte * bytes;
}

}  // namespace regatta
