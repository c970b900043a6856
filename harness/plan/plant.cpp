// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/plant.h"

#include "kernels/graph/op.h"

namespace regatta {

Step wrongly_averaged(const Step& placed) {
  Step wrong = placed;
  wrong.graph = Graph();
  for (const Variable& variable : placed.graph.variables()) wrong.graph.add(variable);
  for (Node node : placed.graph.nodes()) {
    const bool begins_backward =
        node.op == Op::MeanSquaredErrorBackward || node.op == Op::SoftmaxCrossEntropyBackward;
    if (begins_backward && node.place.replica == 1) {
      node.attributes.set("divisor", 2 * node.attributes.integer("divisor"));
    }
    wrong.graph.add(std::move(node));
  }
  return wrong;
}

}  // namespace regatta
