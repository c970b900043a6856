// SPDX-License-Identifier: Apache-2.0
//
// layer_normalize: z = (x - mean) r with r = 1 / sqrt(mean of (x - mean)² + epsilon), y = gain z.
// Its outputs: y, mean (0 for RMSNorm) and r, one of each for every row. With g = dy gain:
//   dx = r (g - mean of g - z mean of (g z)), without `mean of g` for RMSNorm; dgain = sum of dy z.
#include "kernels/graph/ops/rules.h"

namespace regatta {

Value Builder::layer_normalize(Value x, Value gain, const LayerNormalization& options) {
  return node(Op::LayerNormalize, {x, gain},
              {{"center", std::int64_t{options.center == LayerNormalization::Center::Mean}},
               {"epsilon", options.epsilon}});
}

namespace rules {
namespace {

void check_gain(const TensorType& x, const TensorType& gain) {
  check(x.rank() >= 1 && gain == TensorType{ElementType::F32, {x.columns()}},
        "layer_normalize: x [..., C], gain [C] f32");
}

}  // namespace

Types infer_layer_normalize(const InferRequest& request) {
  check(request.inputs.size() == 2, "layer_normalize takes x and gain");
  const TensorType& x = request.inputs[0];
  check_gain(x, request.inputs[1]);
  const TensorType statistic{ElementType::F32, {x.dims.begin(), x.dims.end() - 1}};
  return {x, statistic, statistic};
}

Types infer_layer_normalize_backward(const InferRequest& request) {
  check(request.inputs.size() == 5 && request.inputs[0] == request.inputs[1],
        "layer_normalize_backward takes dy, x, gain, mean, inverse deviation");
  check_gain(request.inputs[1], request.inputs[2]);
  return {request.inputs[1], request.inputs[2]};  // dx, dgain
}

Values gradient_layer_normalize(Builder& builder, Value y, const Node& node,
                                std::span<const Value> gradients) {
  const Value dx =
      builder.node(Op::LayerNormalizeBackward,
                   {gradients[0], node.inputs[0], node.inputs[1], {y.node, 1}, {y.node, 2}},
                   {{"center", node.attributes.integer("center")}});
  return {dx, {dx.node, 1}};
}

}  // namespace rules
}  // namespace regatta
