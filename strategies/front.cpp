// SPDX-License-Identifier: Apache-2.0
#include "strategies/front.h"

#include "kernels/graph/copier.h"

namespace regatta::strategies {

Step in_front(const Step& step, std::set<NodeId> nodes) {
  const Graph& graph = step.graph;
  const auto count = static_cast<NodeId>(graph.nodes().size());
  for (NodeId id = count - 1; id >= 0; --id) {
    if (!nodes.contains(id)) continue;
    for (const Value input : graph.node(id).inputs) nodes.insert(input.node);
  }
  Step result = step;
  result.graph = Graph();
  Copier copier(graph);
  copier.copy_variables(result.graph);
  for (const NodeId id : nodes) copier.copy(id, result.graph);
  for (NodeId id = 0; id < count; ++id) {
    if (!nodes.contains(id)) copier.copy(id, result.graph);
  }
  copier.rename(result);
  return result;
}

}  // namespace regatta::strategies
