// SPDX-License-Identifier: Apache-2.0
//
// tanh: dx = dy (1 - y²).   relu: dx = dy where y > 0.   gelu: y = x Φ(x), dx = dy (Φ(x) + x φ(x)).
#include "kernels/graph/ops/rules.h"

namespace regatta {

Value Builder::tanh(Value x) { return node(Op::Tanh, {x}); }
Value Builder::relu(Value x) { return node(Op::Relu, {x}); }
Value Builder::gelu(Value x) { return node(Op::Gelu, {x}); }

namespace rules {

Types infer_like_first(const InferRequest& request) {
  check(!request.inputs.empty(), "an elementwise op takes an input");
  for (const TensorType& input : request.inputs) {
    check(input == request.inputs[0], "an elementwise op takes inputs of one type");
  }
  return {request.inputs[0]};
}

Values gradient_tanh(Builder& builder, Value y, const Node&, std::span<const Value> gradients) {
  return {builder.node(Op::TanhBackward, {gradients[0], y})};
}

Values gradient_relu(Builder& builder, Value y, const Node&, std::span<const Value> gradients) {
  return {builder.node(Op::ReluBackward, {gradients[0], y})};
}

Values gradient_gelu(Builder& builder, Value, const Node& node, std::span<const Value> gradients) {
  return {builder.node(Op::GeluBackward, {gradients[0], node.inputs[0]})};
}

}  // namespace rules
}  // namespace regatta
