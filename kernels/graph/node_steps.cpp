// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/node_steps.h"

#include <algorithm>

namespace regatta {

NodeSteps node_steps(const Graph& graph, const Node& node) {
  const bool shared = std::any_of(node.variables.begin(), node.variables.end(), [&](auto v) {
    const Sharing sharing = graph.variable(v).sharing;
    return sharing == Sharing::Relaxed || sharing == Sharing::Locked;
  });
  return node_steps(node, shared);
}

NodeSteps node_steps(const Node& node, bool loops_step_apart) {
  NodeSteps steps{.period = period_of(node)};
  if (node.attributes.has("until")) steps.until = node.attributes.integer("until");
  if (node.op == Op::Lookahead) {
    steps.run_examples = node.attributes.integer("total_examples");
    steps.global_batch = node.attributes.integer("global_batch");
    steps.loops_step_apart = loops_step_apart;
  }
  return steps;
}

void set_until(Attributes& attributes, std::int64_t until) {
  if (until != kNeverExpires) attributes.set("until", until);
}

}  // namespace regatta
