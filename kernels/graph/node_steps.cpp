// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/node_steps.h"

namespace regatta {

NodeSteps node_steps(const Node& node) {
  NodeSteps steps{.period = period_of(node)};
  if (node.attributes.has("until")) steps.until = node.attributes.integer("until");
  if (node.op == Op::Lookahead) {
    steps.run_examples = node.attributes.integer("total_examples");
    steps.global_batch = node.attributes.integer("global_batch");
    steps.loops_step_apart = node.attributes.has("loops_step_apart");
  }
  return steps;
}

void set_until(Attributes& attributes, std::int64_t until) {
  if (until != kNeverExpires) attributes.set("until", until);
}

void set_loops_step_apart(Attributes& attributes) {
  attributes.set("loops_step_apart", std::int64_t{1});
}

}  // namespace regatta
