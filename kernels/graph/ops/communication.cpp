// SPDX-License-Identifier: Apache-2.0
//
// Nodes that cross a border. copy, send, sent and receive are inserted by partition() alone;
// all_reduce by strategies. An all_reduce takes k values and yields k sums; its members' inputs
// agree in type. A message of send and receive holds k values, too: one after the other, without
// gaps. A receive with inputs adds the values of its message onto them, in place.
#include <algorithm>

#include "kernels/graph/ops/rules.h"

namespace regatta {

Value Builder::all_reduce(Value value, const AllReduceMember& member) {
  Attributes attributes{{"group", member.group},
                        {"member", member.member},
                        {"members", member.members},
                        {"algorithm", member.algorithm}};
  if (member.round != 0) attributes.set("round", member.round);
  return node(Op::AllReduce, {value}, std::move(attributes));
}

namespace rules {

Types infer_copy(const InferRequest& request) {
  check(request.inputs.size() == 1, "copy takes one input");
  return {request.inputs[0]};
}

Types infer_send(const InferRequest& request) {
  check(!request.inputs.empty(), "send and sent take at least one input");
  return {};
}

Types infer_receive(const InferRequest& request) {
  const auto& elements = request.attributes.integers("elements");
  const auto& ranks = request.attributes.integers("ranks");
  check(elements.size() == ranks.size(), "receive: as many ranks as elements");
  auto dim = request.attributes.integers("dims").begin();
  Types types;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    types.push_back({static_cast<ElementType>(elements[i]), {dim, dim + ranks[i]}});
    dim += ranks[i];
  }
  const bool fits =
      std::equal(types.begin(), types.end(), request.inputs.begin(), request.inputs.end());
  check(request.inputs.empty() || fits, "receive: what is added onto has the message's types");
  return types;
}

Types infer_all_reduce(const InferRequest& request) {
  check(!request.inputs.empty(), "all_reduce takes at least one input");
  return {request.inputs.begin(), request.inputs.end()};
}

}  // namespace rules
}  // namespace regatta
