// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/step_facts.h"

#include <algorithm>

namespace regatta {

StepFacts facts_of(const Graph& placed) {
  const auto& nodes = placed.nodes();
  const auto& variables = placed.variables();
  return {.sums_gradients = std::any_of(nodes.begin(), nodes.end(),
                                        [](const Node& node) { return node.op == Op::AllReduce; }),
          .shares_variables = std::any_of(variables.begin(), variables.end(),
                                          [](const Variable& each) {
                                            return each.sharing != Sharing::None &&
                                                   each.place.role == Role::Worker;
                                          }),
          .needs_the_host = std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
            return node.place.role == Role::Host;
          })};
}

}  // namespace regatta
