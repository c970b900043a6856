// SPDX-License-Identifier: Apache-2.0
//
// quorum: one worker's push to one server, with the gradients of all parameters that the server
// holds. The push counts if its gradients were computed from the current parameters; otherwise it
// is dropped. A step is complete when `needed` pushes count. Only the loop whose push completes the
// step outputs the sums and runs the updates that follow. The sums go over the pushes that counted,
// in the order of the members, with weights that make them means over the examples. The first
// server decides once the push has reached all servers, and outputs the verdict, 1 or 0. The others
// send it their arrivals and receive the verdict. The attribute `hears` is the number of such
// inputs after the gradients.
//   arrival:  gradients -> arrived [1]
//   decides:  gradients, arrived [1] at each other server -> sums, verdict [1]
//   follows:  gradients, verdict [1] -> sums
#include "kernels/graph/ops/rules.h"

namespace regatta {
namespace {

TensorType word() { return {ElementType::F32, {1}}; }

Attributes seat_attributes(const QuorumSeat& seat, std::size_t hears, std::int64_t decides) {
  return {{"needed", seat.needed},
          {"members", seat.members},
          {"examples", seat.examples},
          {"hears", static_cast<std::int64_t>(hears)},
          {"decides", decides}};
}

std::vector<Value> outputs_of(Value first, std::size_t count) {
  std::vector<Value> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back({first.node, static_cast<int>(i)});
  return values;
}

}  // namespace

Value Builder::arrival(std::vector<Value> gradients) {
  return node(Op::Arrival, std::move(gradients), {});
}

QuorumValues Builder::quorum(const std::vector<Value>& gradients, const QuorumSeat& seat,
                             const std::vector<Value>& arrivals) {
  std::vector<Value> inputs = gradients;
  inputs.insert(inputs.end(), arrivals.begin(), arrivals.end());
  const Value first = node(Op::Quorum, std::move(inputs), seat_attributes(seat, arrivals.size(), 1),
                           {}, seat.member);
  return {.sums = outputs_of(first, gradients.size()),
          .verdict = {first.node, static_cast<int>(gradients.size())}};
}

QuorumValues Builder::follow_quorum(const std::vector<Value>& gradients, const QuorumSeat& seat,
                                    Value verdict) {
  std::vector<Value> inputs = gradients;
  inputs.push_back(verdict);
  const Value first =
      node(Op::Quorum, std::move(inputs), seat_attributes(seat, 1, 0), {}, seat.member);
  return {.sums = outputs_of(first, gradients.size()), .verdict = verdict};
}

namespace rules {

Types infer_arrival(const InferRequest& request) {
  check(!request.inputs.empty(), "arrival takes at least one gradient");
  return {word()};
}

Types infer_quorum(const InferRequest& request) {
  const auto hears = static_cast<std::size_t>(request.attributes.integer("hears"));
  check(request.inputs.size() > hears, "quorum takes at least one gradient");
  for (const TensorType& heard : request.inputs.last(hears)) {
    check(heard == word(), "quorum: what it hears is one f32 word each");
  }
  const auto gradients = request.inputs.first(request.inputs.size() - hears);
  Types types(gradients.begin(), gradients.end());
  if (request.attributes.integer("decides") != 0) types.push_back(word());
  return types;
}

}  // namespace rules
}  // namespace regatta
