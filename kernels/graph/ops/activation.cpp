// SPDX-License-Identifier: Apache-2.0
//
// tanh: dx = dy (1 - y²).   relu: dx = dy where y > 0.   gelu: y = x Φ(x), dx = dy (Φ(x) + x φ(x)).
// swiglu: y = a σ(a) b; da = dy b σ(a) (1 + a (1 - σ(a))), db = dy a σ(a).
#include "kernels/graph/ops/rules.h"

namespace regatta {

Value Builder::tanh(Value x) { return node(Op::Tanh, {x}); }
Value Builder::relu(Value x) { return node(Op::Relu, {x}); }
Value Builder::gelu(Value x) { return node(Op::Gelu, {x}); }
Value Builder::swiglu(Value x) { return node(Op::Swiglu, {x}); }

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

Types infer_swiglu(const InferRequest& request) {
  check(request.inputs.size() == 1 && request.inputs[0].rank() >= 1 &&
            request.inputs[0].columns() % 2 == 0,
        "swiglu: x [..., 2 C]");
  TensorType y = request.inputs[0];
  y.dims.back() /= 2;
  return {y};
}

Types infer_swiglu_backward(const InferRequest& request) {
  check(request.inputs.size() == 2 &&
            request.inputs[1].elements() == 2 * request.inputs[0].elements(),
        "swiglu_backward: dy [..., C], x [..., 2 C]");
  return {request.inputs[1]};
}

Values gradient_swiglu(Builder& builder, Value, const Node& node,
                       std::span<const Value> gradients) {
  return {builder.node(Op::SwigluBackward, {gradients[0], node.inputs[0]})};
}

}  // namespace rules
}  // namespace regatta
