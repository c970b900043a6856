// SPDX-License-Identifier: Apache-2.0
//
// Builder::node(), which all typed functions call; those are in ops/.
#include "kernels/graph/builder.h"

#include <utility>

namespace regatta {

NodeId Builder::append(Node node) {
  set_period(node.attributes, period_);
  return graph_.add(std::move(node));
}

Value Builder::node(Op op, std::vector<Value> inputs, Attributes attributes,
                    std::vector<VariableId> variables, std::int64_t member) {
  const NodeId id = append({.op = op,
                            .attributes = std::move(attributes),
                            .inputs = {inputs.begin(), inputs.end()},
                            .variables = {variables.begin(), variables.end()},
                            .outputs = {},
                            .place = place_,
                            .member = member,
                            .phase = op_info(op).crosses ? Phase::Communication
                                     : op == Op::Input   ? Phase::Input
                                                         : phase_,
                            .layer = layer_});
  return {id, 0};
}

}  // namespace regatta
