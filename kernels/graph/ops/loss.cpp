// SPDX-License-Identifier: Apache-2.0
//
// Losses end the forward pass: their backward nodes take no incoming gradient (it is 1).
// softmax_cross_entropy with smoothing e over K classes: -sum_k t_k log p_k / divisor, with
// t_k = (1 - e) [k = label] + e / K. Its outputs: the loss and the probabilities p.
// If classes are divided among n shards, a shard has those from `offset` on. For T labels,
// softmax_part yields 3 T numbers: for each label the largest of the shard's logits x, then for
// each the sum of exp(x - largest), then the label's logit, or 0 if another shard has it.
// cross_entropy_of_parts takes the parts of all shards, concatenated, and yields the loss
// without smoothing, sum of (s - label's logit) / divisor, and all s = log of the sum of exp(x)
// over all classes. softmax_part_backward: dx = (exp(x - s) - [k + offset = label]) / divisor.
// Source: Shoeybi et al., arXiv:1909.08053, section 3.
#include "kernels/graph/ops/rules.h"

namespace regatta {

Value Builder::softmax_cross_entropy(Value logits, Value labels, const CrossEntropy& options) {
  return node(Op::SoftmaxCrossEntropy, {logits, labels},
              {{"label_smoothing", options.label_smoothing}, {"divisor", options.divisor}});
}

Value Builder::mean_squared_error(Value prediction, Value target, std::int64_t divisor) {
  return node(Op::MeanSquaredError, {prediction, target}, {{"divisor", divisor}});
}

Value Builder::count_correct(Value logits, Value labels) {
  return node(Op::CountCorrect, {logits, labels});
}

namespace rules {
namespace {

const TensorType kScalar{ElementType::F32, {}};

void check_classification(const InferRequest& request) {
  check(request.inputs.size() == 2 && request.inputs[0].rank() >= 1, "a loss takes two values");
  TensorType labels{ElementType::I32, request.inputs[0].dims};
  labels.dims.pop_back();
  check(request.inputs[1] == labels, "a classification loss: logits [..., K], labels [...] i32");
}

}  // namespace

Types infer_softmax_cross_entropy(const InferRequest& request) {
  check_classification(request);
  return {kScalar, {ElementType::F32, request.inputs[0].dims}};
}

Types infer_softmax_cross_entropy_backward(const InferRequest& request) {
  check_classification(request);
  return {
      {static_cast<ElementType>(request.attributes.integer("element")), request.inputs[0].dims}};
}

Types infer_mean_squared_error(const InferRequest& request) {
  check(request.inputs.size() == 2 && request.inputs[0] == request.inputs[1] &&
            request.inputs[0].rank() >= 1,
        "mean_squared_error: prediction and target [..., O]");
  return {kScalar};
}

Types infer_mean_squared_error_backward(const InferRequest& request) {
  check(request.inputs.size() == 2, "mean_squared_error_backward takes prediction and target");
  return {request.inputs[0]};
}

Types infer_count_correct(const InferRequest& request) {
  check_classification(request);
  return {kScalar};
}

Types infer_softmax_part(const InferRequest& request) {
  check_classification(request);
  return {{ElementType::F32, {3 * request.inputs[1].elements()}}};
}

Types infer_cross_entropy_of_parts(const InferRequest& request) {
  const std::int64_t parts = request.attributes.integer("parts");
  check(request.inputs.size() == 1 && request.inputs[0].rank() == 1 &&
            request.inputs[0].element == ElementType::F32 &&
            request.inputs[0].elements() % (3 * parts) == 0,
        "cross_entropy_of_parts: [parts * 3 * T] f32");
  return {kScalar, {ElementType::F32, {request.inputs[0].elements() / (3 * parts)}}};
}

Types infer_softmax_part_backward(const InferRequest& request) {
  check(request.inputs.size() == 3 && request.inputs[1].element == ElementType::I32 &&
            request.inputs[0].rows() == request.inputs[1].elements() &&
            request.inputs[2] == TensorType{ElementType::F32, {request.inputs[1].elements()}},
        "softmax_part_backward: logits [..., K], labels [...] i32, log_sums [T] f32");
  return {request.inputs[0]};
}

Values gradient_softmax_cross_entropy(Builder& builder, Value loss, const Node& node,
                                      std::span<const Value>) {
  Attributes attributes = node.attributes;
  const TensorType& logits = builder.graph().type(node.inputs[0]);
  attributes.set("element", static_cast<std::int64_t>(logits.element));
  return {
      builder.node(Op::SoftmaxCrossEntropyBackward, {{loss.node, 1}, node.inputs[1]}, attributes),
      {}};
}

Values gradient_mean_squared_error(Builder& builder, Value, const Node& node,
                                   std::span<const Value>) {
  return {
      builder.node(Op::MeanSquaredErrorBackward, {node.inputs[0], node.inputs[1]}, node.attributes),
      {}};
}

}  // namespace rules
}  // namespace regatta
