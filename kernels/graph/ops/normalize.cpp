// SPDX-License-Identifier: Apache-2.0
//
// normalize: batch normalisation with statistics over groups of `group` consecutive examples
// ("ghost" batches). For a group of m = group * H * W values of one channel:
//   mean = sum x / m, variance = sum (x - mean)² / m, y = scale (x - mean) / sqrt(variance + eps) +
//   shift
// Running statistics take the mean over the groups, with variance * m / (m - 1):
//   running = (1 - momentum) running + momentum * that mean.
// A node without variables (a recomputation) has no running statistics.
// So a batch divided among replicas in whole groups computes the same function, and averaging the
// replicas' running statistics by their number of groups is exact, because the update is linear.
// Source: Ioffe and Szegedy, arXiv:1502.03167; Hoffer et al., arXiv:1705.08741 (groups).
#include "kernels/graph/ops/rules.h"

namespace regatta {

Value Builder::normalize(Value x, Value scale, Value shift, VariableId running_mean,
                         VariableId running_variance, const Normalization& options) {
  return node(
      Op::Normalize, {x, scale, shift},
      {{"group", options.group}, {"epsilon", options.epsilon}, {"momentum", options.momentum}},
      {running_mean, running_variance});
}

Value Builder::normalize_inference(Value x, Value scale, Value shift, Value mean, Value variance,
                                   double epsilon) {
  return node(Op::NormalizeInference, {x, scale, shift, mean, variance}, {{"epsilon", epsilon}});
}

namespace rules {
namespace {

void check_per_channel(const InferRequest& request, std::size_t first) {
  const TensorType& x = request.inputs[0];
  check(x.rank() == 4, "normalize: x [B, H, W, C]");
  for (std::size_t i = first; i < request.inputs.size(); ++i) {
    check(request.inputs[i] == TensorType{ElementType::F32, {x.dim(3)}},
          "normalize: one f32 value a channel");
  }
}

}  // namespace

Types infer_normalize(const InferRequest& request) {
  check(request.inputs.size() == 3 && (request.variables.empty() || request.variables.size() == 2),
        "normalize takes x, scale, shift and assigns two running statistics or none");
  check_per_channel(request, 1);
  const TensorType& x = request.inputs[0];
  const std::int64_t group = request.attributes.integer("group");
  check(group > 0 && x.dim(0) % group == 0, "normalize: the batch is a whole number of groups");
  const TensorType statistic{ElementType::F32, {x.dim(0) / group, x.dim(3)}};
  return {x, statistic, statistic};  // y, mean, 1 / sqrt(variance + epsilon)
}

Types infer_normalize_inference(const InferRequest& request) {
  check(request.inputs.size() == 5, "normalize_inference takes x, scale, shift, mean, variance");
  check_per_channel(request, 1);
  return {request.inputs[0]};
}

Types infer_normalize_backward(const InferRequest& request) {
  check(request.inputs.size() == 5 && request.inputs[0] == request.inputs[1],
        "normalize_backward takes dy, x, scale, mean, inverse deviation");
  const TensorType channel{ElementType::F32, {request.inputs[0].dim(3)}};
  return {request.inputs[0], channel, channel};  // dx, dscale, dshift
}

Values gradient_normalize(Builder& builder, Value y, const Node& node,
                          std::span<const Value> gradients) {
  const Value dx =
      builder.node(Op::NormalizeBackward,
                   {gradients[0], node.inputs[0], node.inputs[1], {y.node, 1}, {y.node, 2}},
                   {{"group", node.attributes.integer("group")}});
  return {dx, {dx.node, 1}, {dx.node, 2}};
}

}  // namespace rules
}  // namespace regatta
