// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/period.h"

#include <algorithm>
#include <vector>

#include "kernels/base/random.h"

namespace regatta {

bool PeerDraw::is_in(std::int64_t step) const {
  return peers == 1 ||
         draw_peer(static_cast<std::uint32_t>(replica), step, static_cast<std::uint32_t>(peers)) ==
             static_cast<std::uint32_t>(peer);
}

std::int64_t Period::due_in(std::int64_t steps) const {
  if (draw) {
    std::int64_t due = 0;
    for (std::int64_t step = 0; step < steps; ++step) due += draw->is_in(step) ? 1 : 0;
    return due;
  }
  if (steps <= from) return steps;
  return from + std::max<std::int64_t>(0, steps - from - lag) / every;
}

std::int64_t Period::first_behind_start() const {
  std::int64_t step = 0;
  if (!draw) return from + lag + every - 1;
  while (!draw->is_in(step)) ++step;
  return step;
}

Period period_of(const Node& node) {
  if (node.attributes.has("drawn")) {
    const std::vector<std::int64_t> drawn = node.attributes.integers("drawn");
    return {.draw = PeerDraw{.replica = drawn.at(0), .peers = drawn.at(1), .peer = drawn.at(2)}};
  }
  if (!node.attributes.has("every")) return {};
  const std::int64_t lag = node.attributes.has("lag") ? node.attributes.integer("lag") : 0;
  return {.every = node.attributes.integer("every"),
          .from = node.attributes.integer("after"),
          .lag = lag};
}

void set_period(Attributes& attributes, const Period& period) {
  if (period == Period{}) return;
  if (period.draw) {
    const PeerDraw& draw = *period.draw;
    return attributes.set("drawn", std::vector{draw.replica, draw.peers, draw.peer});
  }
  attributes.set("every", period.every);
  attributes.set("after", period.from);
  if (period.lag != 0) attributes.set("lag", period.lag);
}

namespace {

bool gives_or_takes_values(const Node& node) {
  return !node.inputs.empty() || !node.outputs.empty();
}

std::int64_t steps_with(const Period& period) {
  return period.from > 0 ? 1 : period.first_behind_start() + 1;
}

}  // namespace

bool exchanges_are_alike(const Graph& graph) {
  return std::all_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
    return !gives_or_takes_values(node) || period_of(node) == Period{};
  });
}

std::int64_t steps_with_all_nodes(const Graph& graph) {
  std::int64_t steps = 1;
  for (const Node& node : graph.nodes()) steps = std::max(steps, steps_with(period_of(node)));
  return steps;
}

std::int64_t steps_with_all_exchanges(const Graph& graph) {
  std::int64_t steps = 1;
  for (const Node& node : graph.nodes()) {
    if (gives_or_takes_values(node)) steps = std::max(steps, steps_with(period_of(node)));
  }
  return steps;
}

std::map<std::pair<Value, Place>, Period> periods_of_travel(const Graph& graph) {
  std::map<std::pair<Value, Place>, Period> all;
  for (const Node& node : graph.nodes()) {
    for (const Value input : node.inputs) {
      const Node& maker = graph.node(input.node);
      if (maker.place == node.place) continue;
      const auto [entry, is_new] = all.try_emplace({input, node.place}, period_of(node));
      if (entry->second != period_of(node)) entry->second = period_of(maker);
    }
  }
  return all;
}

}  // namespace regatta
