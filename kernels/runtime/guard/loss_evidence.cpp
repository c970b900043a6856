// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/guard/loss_evidence.h"

#include <span>
#include <vector>

#include "kernels/graph/collective.h"

namespace regatta {

std::set<NodeId> nodes_behind(const Graph& graph, const Plan& plan, Value loss) {
  const std::set<Value> looked_at(plan.looked_at().begin(), plan.looked_at().end());
  std::set<NodeId> behind{loss.node};
  std::vector<NodeId> open{loss.node};
  while (!open.empty()) {
    const Node& node = graph.node(open.back());
    open.pop_back();
    for (const Value input : std::span(node.inputs).first(inputs_read(node))) {
      const NodeId maker = what_is_viewed(graph, input).node;
      if (plan.lane_of(maker) != plan.lane_of(loss.node)) continue;
      if (looked_at.contains(input)) continue;
      if (behind.insert(maker).second) open.push_back(maker);
    }
  }
  return behind;
}

namespace {

/// Whether the value is a gathered parameter that is freed even if the loss is not finite.
bool frees(const Graph& graph, Value value) {
  return graph.node(value.node).attributes.has("frees");
}

}  // namespace

std::set<Value> evidence_of(const Graph& graph, const Plan& plan, Value loss) {
  std::set<Value> evidence;
  for (const NodeId id : nodes_behind(graph, plan, loss)) {
    const Node& node = graph.node(id);
    const bool is_message = node.op == Op::Copy || node.op == Op::Receive;
    for (int i = 0; is_message && i < static_cast<int>(node.outputs.size()); ++i) {
      evidence.insert(plan.storage({id, i}).owner);
    }
    for (const Value input : std::span(node.inputs).first(inputs_read(node))) {
      const Storage& source = plan.storage(input);
      const bool is_here =
          source.variable >= 0 || plan.lane_of(source.owner.node) == plan.lane_of(id);
      if (is_here || is_message || frees(graph, source.owner)) continue;
      evidence.insert(source.owner);
    }
  }
  return evidence;
}

}  // namespace regatta
