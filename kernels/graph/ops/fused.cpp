// SPDX-License-Identifier: Apache-2.0
//
// The ops into which fuse() merges normalize and bias with their neighbours. They have no gradient
// rules, because fuse() runs after gradient(). With a(x) the activation (or identity), N the
// normalisation:
//   fused_normalize(x, scale, shift [, residual]) = y, mean, inverse deviation [, picked, index]
//     no pool:      y = a(N(x)) [+ residual]
//     pool before:  picked = max_pool(x), y = a(N(picked)) [+ residual]
//     pool after:   y = max_pool(a(N(x))), picked = x at the position of each window's largest y
//     index is max_pool's: the position in the window (row-major, the first of equals) as u8.
//   fused_normalize_backward(dy, s, scale, shift, mean, inverse deviation [, index [, x]]) = dx,
//     dscale, dshift; s is x, or picked if there is a pool; x is repeated if the pool is after. The
//     activation's derivative is recomputed from s. The residual's gradient is dy.
//   fused_normalize_inference(x, scale, shift, mean, variance [, residual]) = y
//   fused_bias(x, b) = a(x + b);  fused_bias_backward(dy, x, b) = db [, dx]
// A chain of single ops in bf16 rounds between ops; a fused op computes in f32 from the values read
// to the values written.
#include "kernels/graph/fusion.h"
#include "kernels/graph/ops/rules.h"

namespace regatta::rules {
namespace {

void check_channels(const InferRequest& request, std::size_t first, std::size_t last) {
  const TensorType& x = request.inputs[0];
  check(x.rank() == 4, "a fused normalisation: x [B, H, W, C]");
  for (std::size_t i = first; i < last; ++i) {
    check(request.inputs[i] == TensorType{ElementType::F32, {x.dim(3)}},
          "a fused normalisation: one f32 value a channel");
  }
}

/// The type of x, or of its pooled form.
TensorType result_type(const TensorType& x, const Fusion& fusion) {
  if (fusion.pool == Fusion::Pool::None) return x;
  check(x.dim(1) >= fusion.window && x.dim(2) >= fusion.window,
        "a fused pool: the window fits into the image");
  return {x.element, {x.dim(0), x.dim(1) / fusion.window, x.dim(2) / fusion.window, x.dim(3)}};
}

void check_residual(const InferRequest& request, std::size_t at, const TensorType& y,
                    const Fusion& fusion) {
  if (request.inputs.size() == at) return;
  check(request.inputs.size() == at + 1 && request.inputs[at] == y &&
            fusion.pool != Fusion::Pool::After,
        "a fused residual has the type of y, and no pool stands after it");
}

}  // namespace

Types infer_fused_normalize(const InferRequest& request) {
  check(request.inputs.size() >= 3 && (request.variables.empty() || request.variables.size() == 2),
        "fused_normalize takes x, scale, shift and assigns two running statistics or none");
  check_channels(request, 1, 3);
  const Fusion fusion = fusion_of(request.attributes);
  const TensorType& x = request.inputs[0];
  const TensorType y = result_type(x, fusion);
  check_residual(request, 3, y, fusion);
  const std::int64_t group = request.attributes.integer("group");
  check(group > 0 && x.dim(0) % group == 0,
        "fused_normalize: the batch is a whole number of groups");
  const TensorType statistic{ElementType::F32, {x.dim(0) / group, x.dim(3)}};
  if (fusion.pool == Fusion::Pool::None) return {y, statistic, statistic};
  return {y, statistic, statistic, y, {ElementType::U8, y.dims}};
}

Types infer_fused_normalize_backward(const InferRequest& request) {
  const Fusion fusion = fusion_of(request.attributes);
  const std::size_t pool_inputs = fusion.pool == Fusion::Pool::None     ? 0
                                  : fusion.pool == Fusion::Pool::Before ? 1
                                                                        : 2;
  check(request.inputs.size() == 6 + pool_inputs && request.inputs[0] == request.inputs[1],
        "fused_normalize_backward takes dy, x or what was picked of it, scale, shift, mean, "
        "inverse deviation, and the pool's index and x");
  check_channels(request, 2, 4);
  TensorType dx = request.inputs[0];
  if (fusion.pool != Fusion::Pool::None) {
    dx.dims = request.attributes.integers("dims");
    dx.dims[0] = request.inputs[0].dim(0);
    check(result_type(dx, fusion) == request.inputs[0], "a fused pool: dx pools to dy");
  }
  check(fusion.pool != Fusion::Pool::After || request.inputs[7] == dx, "dx has the type of x");
  const TensorType channel{ElementType::F32, {dx.dim(3)}};
  return {dx, channel, channel};
}

Types infer_fused_normalize_inference(const InferRequest& request) {
  check(request.inputs.size() >= 5,
        "fused_normalize_inference takes x, scale, shift, mean, variance");
  check_channels(request, 1, 5);
  const Fusion fusion = fusion_of(request.attributes);
  const TensorType y = result_type(request.inputs[0], fusion);
  check_residual(request, 5, y, fusion);
  return {y};
}

Types infer_fused_bias_backward(const InferRequest& request) {
  check(request.inputs.size() == 3 && request.inputs[0] == request.inputs[1] &&
            request.inputs[2] == TensorType{ElementType::F32, {request.inputs[0].dims.back()}},
        "fused_bias_backward takes dy, x, b");
  const TensorType db{ElementType::F32, {request.inputs[0].dims.back()}};
  if (request.attributes.integer("data") == 0) return {db};
  return {db, request.inputs[0]};
}

}  // namespace regatta::rules
