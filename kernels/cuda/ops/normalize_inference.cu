// SPDX-License-Identifier: Apache-2.0
//
// normalize_inference and fused_normalize_inference: the second pass of a normalisation, one group,
// with the running statistics. inverse deviation = 1 / sqrt(variance + epsilon).
#include <cmath>

#include "kernels/cuda/device/scratch.h"
#include "kernels/cuda/ops/normalize_apply.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

using Pool = Fusion::Pool;

struct InverseDeviation {
  const float* variance;
  float* inverse;
  double epsilon;

  __host__ __device__ void operator()(std::int64_t channel) const {
    inverse[channel] =
        static_cast<float>(1 / sqrt(static_cast<double>(variance[channel]) + epsilon));
  }
};

template <typename T, int kWidth, Pool kPool>
KernelPointer build(const KernelRequest& request, const Fusion& fusion) {
  Queue* queue = &queue_of(request);
  const Tensor x = request.inputs[0], y = request.outputs[0];
  const std::int64_t channels = x.type.dim(3);
  const auto scratch =
      std::make_shared<Scratch>(*queue, channels * static_cast<std::int64_t>(sizeof(float)));
  const InverseDeviation inverse{.variance = request.inputs[4].f32(),
                                 .inverse = scratch->template as<float>(),
                                 .epsilon = request.node.attributes.real("epsilon")};
  const NormalizeApply<T, kWidth, kPool> apply{
      .sweep = Sweep(1, y.elements() / channels, channels, kWidth),
      .lines = {.mean = request.inputs[3].f32(),
                .inverse = inverse.inverse,
                .scale = request.inputs[1].f32(),
                .shift = request.inputs[2].f32(),
                .channels = channels},
      .activation = fusion.activation,
      .windows = Windows(x.type, fusion.window, Windows::Cover::Complete),
      .x_group = 0,
      .x = x.as<T>(),
      .residual = request.inputs.size() > 5 ? request.inputs[5].template as<T>() : nullptr,
      .y = y.as<T>(),
      .picked = nullptr,
      .positions = nullptr};
  return make_kernel([=, keep = scratch](const StepContext&) {
    for_each(*queue, channels, inverse);
    for_each_block(*queue, apply.sweep.blocks(), kSweepThreads, 0, apply);
  });
}

KernelPointer normalize_inference(const KernelRequest& request) {
  const Fusion fusion = fusion_of(request.node.attributes);
  const Tensor x = request.inputs[0];
  return with_element(x.type.element, [&]<typename T>(T) {
    const auto with = [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      switch (fusion.pool) {
        case Pool::Before: return build<T, kWidth, Pool::Before>(request, fusion);
        case Pool::After: return build<T, kWidth, Pool::After>(request, fusion);
        case Pool::None: break;
      }
      return build<T, kWidth, Pool::None>(request, fusion);
    };
    const auto in = request.inputs;
    return with_width(x.type.dim(3),
                      {address_of(in, 0), address_of(in, 1), address_of(in, 2), address_of(in, 3),
                       address_of(in, 5), request.outputs[0].data},
                      with);
  });
}

}  // namespace

KernelRows normalize_inference_kernels() {
  return {{Op::NormalizeInference, normalize_inference},
          {Op::FusedNormalizeInference, normalize_inference}};
}

}  // namespace regatta::cuda
