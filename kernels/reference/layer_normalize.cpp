// SPDX-License-Identifier: Apache-2.0
//
// layer_normalize of each row: z = (x - mean) r with r = 1 / sqrt(mean of (x - mean)² + epsilon),
// y = gain z; for RMSNorm, the mean is 0. Backward, with g = dy gain:
//   dx = r (g - mean of g - z mean of (g z)), without `mean of g` for RMSNorm; dgain = sum of dy z.
#include <cmath>

#include "kernels/runtime/kernel.h"

namespace regatta::reference {
namespace {

KernelPointer layer_normalize(const KernelRequest& request) {
  const Tensor x = request.inputs[0], gain = request.inputs[1], y = request.outputs[0];
  const Tensor means = request.outputs[1], inverses = request.outputs[2];
  const bool centered = request.node.attributes.integer("center") != 0;
  const double epsilon = request.node.attributes.real("epsilon");
  return make_kernel([=](const StepContext&) {
    const std::int64_t columns = x.type.columns();
    for (std::int64_t row = 0; row < x.type.rows(); ++row) {
      const float* from = x.f32() + row * columns;
      double mean = 0, variance = 0;
      for (std::int64_t c = 0; c < columns && centered; ++c) {
        mean += double{from[c]} / static_cast<double>(columns);
      }
      for (std::int64_t c = 0; c < columns; ++c) {
        variance += (from[c] - mean) * (from[c] - mean) / static_cast<double>(columns);
      }
      const double inverse = 1 / std::sqrt(variance + epsilon);
      for (std::int64_t c = 0; c < columns; ++c) {
        y.f32()[row * columns + c] =
            static_cast<float>(gain.f32()[c] * ((from[c] - mean) * inverse));
      }
      means.f32()[row] = static_cast<float>(mean);
      inverses.f32()[row] = static_cast<float>(inverse);
    }
  });
}

KernelPointer layer_normalize_backward(const KernelRequest& request) {
  const Tensor dy = request.inputs[0], x = request.inputs[1], gain = request.inputs[2];
  const Tensor means = request.inputs[3], inverses = request.inputs[4];
  const Tensor dx = request.outputs[0], dgain = request.outputs[1];
  const bool centered = request.node.attributes.integer("center") != 0;
  return make_kernel([=](const StepContext&) {
    const std::int64_t columns = x.type.columns(), rows = x.type.rows();
    const auto z = [&](std::int64_t row, std::int64_t c) {
      return (double{x.f32()[row * columns + c]} - means.f32()[row]) * inverses.f32()[row];
    };
    const auto g = [&](std::int64_t row, std::int64_t c) {
      return double{dy.f32()[row * columns + c]} * gain.f32()[c];
    };
    for (std::int64_t row = 0; row < rows; ++row) {
      double mean = 0, mean_product = 0;
      for (std::int64_t c = 0; c < columns; ++c) {
        if (centered) mean += g(row, c) / static_cast<double>(columns);
        mean_product += g(row, c) * z(row, c) / static_cast<double>(columns);
      }
      for (std::int64_t c = 0; c < columns; ++c) {
        dx.f32()[row * columns + c] =
            static_cast<float>(inverses.f32()[row] * (g(row, c) - mean - z(row, c) * mean_product));
      }
    }
    for (std::int64_t c = 0; c < columns; ++c) {
      double total = 0;
      for (std::int64_t row = 0; row < rows; ++row)
        total += dy.f32()[row * columns + c] * z(row, c);
      dgain.f32()[c] = static_cast<float>(total);
    }
  });
}

}  // namespace

KernelRows layer_normalize_kernels() {
  return {{Op::LayerNormalize, layer_normalize},
          {Op::LayerNormalizeBackward, layer_normalize_backward}};
}

}  // namespace regatta::reference
