// SPDX-License-Identifier: Apache-2.0
//
// dense: y = x wᵀ; dx = dy w; dw = dyᵀ x.   bias: y = x + b; db = sum of dy over all rows.
// Weights [P, O, I] are P matrices, one below the other: a shard takes rows of each.
#include "kernels/graph/graph.h"
#include "kernels/graph/ops/rules.h"

namespace regatta {

Value Builder::dense(Value x, Value weights) { return node(Op::Dense, {x, weights}); }
Value Builder::bias(Value x, Value b) { return node(Op::Bias, {x, b}); }

namespace rules {

namespace {

TensorType with_columns(TensorType type, std::int64_t columns) {
  type.dims.back() = columns;
  return type;
}

}  // namespace

Types infer_dense(const InferRequest& request) {
  check(request.inputs.size() == 2, "dense takes x and w");
  const TensorType& x = request.inputs[0];
  const TensorType& w = request.inputs[1];
  check(x.rank() >= 1 && w.rank() >= 2 && x.columns() == w.columns(),
        "dense: x [..., I], w [O, I]");
  return {with_columns(x, w.rows())};
}

Types infer_dense_backward_data(const InferRequest& request) {
  check(request.inputs.size() == 2, "dense_backward_data takes dy and w");
  const TensorType& dy = request.inputs[0];
  const TensorType& w = request.inputs[1];
  check(dy.rank() >= 1 && w.rank() >= 2 && dy.columns() == w.rows(),
        "dense_backward_data: dy [..., O], w [O, I]");
  return {with_columns(dy, w.columns())};
}

Types infer_dense_backward_weights(const InferRequest& request) {
  check(request.inputs.size() == 2, "dense_backward_weights takes dy and x");
  const TensorType& dy = request.inputs[0];
  const TensorType& x = request.inputs[1];
  check(dy.rank() >= 1 && x.rank() == dy.rank() &&
            with_columns(dy, 1).dims == with_columns(x, 1).dims,
        "dense_backward_weights: dy [..., O], x [..., I]");
  if (!request.attributes.has("matrices")) return {{ElementType::F32, {dy.columns(), x.columns()}}};
  const std::int64_t matrices = request.attributes.integer("matrices");
  check(dy.columns() % matrices == 0, "dense_backward_weights: dy [..., P O]");
  return {{ElementType::F32, {matrices, dy.columns() / matrices, x.columns()}}};
}

Values gradient_dense(Builder& builder, Value, const Node& node, std::span<const Value> gradients) {
  const Value dy = gradients[0];
  Attributes attributes;
  const TensorType& w = builder.graph().type(node.inputs[1]);
  if (w.rank() == 3) attributes.set("matrices", w.dim(0));
  const Value dw =
      builder.node(Op::DenseBackwardWeights, {dy, node.inputs[0]}, std::move(attributes));
  if (!builder.wants(0)) return {{}, dw};
  return {builder.node(Op::DenseBackwardData, {dy, node.inputs[1]}), dw};
}

std::int64_t multiply_adds_dense(const Graph& graph, const Node& node) {
  return node.outputs[0].elements() * graph.type(node.inputs[0]).columns();
}

std::int64_t multiply_adds_dense_weights(const Graph& graph, const Node& node) {
  return node.outputs[0].elements() * graph.type(node.inputs[0]).rows();
}

Types infer_bias(const InferRequest& request) {
  check(request.inputs.size() == 2 && request.inputs[1].rank() == 1 &&
            request.inputs[0].rank() >= 1 && request.inputs[1].element == ElementType::F32 &&
            request.inputs[0].dims.back() == request.inputs[1].dim(0),
        "bias: x [..., C], b [C] in f32");
  return {request.inputs[0]};
}

Types infer_bias_backward(const InferRequest& request) {
  check(request.inputs.size() == 1 && request.inputs[0].rank() >= 1, "bias_backward takes dy");
  return {{ElementType::F32, {request.inputs[0].dims.back()}}};
}

Values gradient_bias(Builder& builder, Value, const Node&, std::span<const Value> gradients) {
  return {gradients[0], builder.node(Op::BiasBackward, {gradients[0]})};
}

}  // namespace rules
}  // namespace regatta
