// SPDX-License-Identifier: Apache-2.0
//
// Nodes that cross a border. copy, send and receive are inserted by partition() alone; all_reduce
// by strategies. An all_reduce takes k values and yields k sums; its members' inputs agree in type.
#include "kernels/graph/ops/rules.h"

namespace regatta {

Value Builder::all_reduce(Value value, const AllReduceMember& member) {
  return node(Op::AllReduce, {value},
              {{"group", member.group},
               {"member", member.member},
               {"members", member.members},
               {"algorithm", member.algorithm}});
}

namespace rules {

Types infer_copy(const InferRequest& request) {
  check(request.inputs.size() == 1, "copy takes one input");
  return {request.inputs[0]};
}

Types infer_send(const InferRequest& request) {
  check(request.inputs.size() == 1, "send takes one input");
  return {};
}

Types infer_receive(const InferRequest& request) {
  check(request.inputs.empty(), "receive takes no input");
  return {{static_cast<ElementType>(request.attributes.integer("element")),
           request.attributes.integers("dims")}};
}

Types infer_all_reduce(const InferRequest& request) {
  check(!request.inputs.empty(), "all_reduce takes at least one input");
  return {request.inputs.begin(), request.inputs.end()};
}

}  // namespace rules
}  // namespace regatta
