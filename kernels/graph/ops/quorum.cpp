// SPDX-License-Identifier: Apache-2.0
//
// quorum: what one worker pushes to one server, the gradients of all that the server holds. The
// push counts when the parameters it was computed from are still the current ones, and is dropped
// else. The needed-th that counts completes a step: in its loop alone outputs hold the sums over
// the pushes that counted, in the order of the members and weighted so that they are the mean over
// these pushes' examples, and the updates behind the node run.
// The first server decides and yields the verdict, 1 or 0; the others are told.
//   decides:  gradients -> sums, verdict [1];   told:  gradients, verdict [1] -> sums
#include "kernels/graph/ops/rules.h"

namespace regatta {

QuorumValues Builder::quorum(std::vector<Value> gradients, const QuorumSeat& seat, Value verdict) {
  const auto count = static_cast<int>(gradients.size());
  const bool decides = !verdict.exists();
  if (!decides) gradients.push_back(verdict);
  const Value first = node(Op::Quorum, std::move(gradients),
                           {{"needed", seat.needed},
                            {"member", seat.member},
                            {"members", seat.members},
                            {"examples", seat.examples},
                            {"decides", static_cast<std::int64_t>(decides)}});
  QuorumValues values{.sums = {}, .verdict = decides ? Value{first.node, count} : verdict};
  for (int i = 0; i < count; ++i) values.sums.push_back({first.node, i});
  return values;
}

namespace rules {

Types infer_quorum(const InferRequest& request) {
  const TensorType verdict{ElementType::F32, {1}};
  const bool decides = request.attributes.integer("decides") != 0;
  Types types(request.inputs.begin(), request.inputs.end());
  check(types.size() > (decides ? 0 : 1), "quorum takes at least one gradient");
  if (decides) {
    types.push_back(verdict);
  } else {
    check(types.back() == verdict, "quorum: the last input of one that is told is the verdict");
    types.pop_back();
  }
  return types;
}

}  // namespace rules
}  // namespace regatta
