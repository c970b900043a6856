// SPDX-License-Identifier: Apache-2.0
//
// Builder::node(), through which all typed functions go; those live in ops/.
#include "kernels/graph/builder.h"

#include <utility>

namespace regatta {

Value Builder::node(Op op, std::vector<Value> inputs, Attributes attributes,
                    std::vector<VariableId> variables) {
  if (period_ != Period{}) {
    attributes.set("every", period_.every);
    attributes.set("from", period_.from);
  }
  const NodeId id = graph_.add({.op = op,
                                .attributes = std::move(attributes),
                                .inputs = std::move(inputs),
                                .variables = std::move(variables),
                                .outputs = {},
                                .place = place_,
                                .phase = op_info(op).crosses ? Phase::Communication
                                         : op == Op::Input   ? Phase::Input
                                                             : phase_,
                                .layer = layer_});
  return {id, 0};
}

}  // namespace regatta
