// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/period.h"

#include <algorithm>

namespace regatta {

Period period_of(const Node& node) {
  if (!node.attributes.has("every")) return {};
  const std::int64_t lag = node.attributes.has("lag") ? node.attributes.integer("lag") : 0;
  return {.every = node.attributes.integer("every"),
          .from = node.attributes.integer("after"),
          .lag = lag};
}

void set_period(Attributes& attributes, const Period& period) {
  if (period == Period{}) return;
  attributes.set("every", period.every);
  attributes.set("after", period.from);
  if (period.lag != 0) attributes.set("lag", period.lag);
}

namespace {

bool gives_or_takes_values(const Node& node) {
  return !node.inputs.empty() || !node.outputs.empty();
}

std::int64_t steps_with(const Period& period) {
  return period.from > 0 ? 1 : period.every + period.lag;
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

std::set<VariableId> averaged_variables(const Graph& graph) {
  std::set<VariableId> averaged;
  for (const Node& node : graph.nodes()) {
    if (node.op != Op::Assign && node.op != Op::Average) continue;
    const VariableId assigned = node.variables[0];
    if (graph.variable(assigned).kind == VariableKind::Parameter) averaged.insert(assigned);
  }
  return averaged;
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
