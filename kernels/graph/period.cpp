// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/period.h"

#include <algorithm>

namespace regatta {

Period period_of(const Node& node) {
  if (!node.attributes.has("every")) return {};
  return {.every = node.attributes.integer("every"), .from = node.attributes.integer("from")};
}

bool steps_are_alike(const Graph& graph) {
  return std::all_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const Node& node) { return period_of(node) == Period{}; });
}

std::int64_t steps_with_all_nodes(const Graph& graph) {
  std::int64_t steps = 1;
  for (const Node& node : graph.nodes()) {
    const Period period = period_of(node);
    steps = std::max(steps, period.from > 0 ? 1 : period.every);
  }
  return steps;
}

std::set<VariableId> averaged_variables(const Graph& graph) {
  std::set<VariableId> averaged;
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::Assign && period_of(node).every > 1) averaged.insert(node.variables[0]);
  }
  return averaged;
}

}  // namespace regatta
