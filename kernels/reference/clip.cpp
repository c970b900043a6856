// SPDX-License-Identifier: Apache-2.0
//
// squared_norm: sum of the squares of all elements. clip_divisor: max(1, (sqrt(x) + 1e-6) / limit).
#include <cmath>
#include <vector>

#include "kernels/runtime/kernel.h"

namespace regatta::reference {
namespace {

KernelPointer squared_norm(const KernelRequest& request) {
  const std::vector<Tensor> values(request.inputs.begin(), request.inputs.end());
  const Tensor y = request.outputs[0];
  return make_kernel([=](const StepContext&) {
    double total = 0;
    for (const Tensor& x : values) {
      for (std::int64_t i = 0; i < x.elements(); ++i) total += double{x.f32()[i]} * x.f32()[i];
    }
    *y.f32() = static_cast<float>(total);
  });
}

KernelPointer clip_divisor(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  const double limit = request.node.attributes.real("limit");
  return make_kernel([=](const StepContext&) {
    const double divisor = (std::sqrt(double{*x.f32()}) + 1e-6) / limit;
    *y.f32() = divisor < 1 ? 1.0F : static_cast<float>(divisor);  // this order keeps a NaN
  });
}

}  // namespace

KernelRows clip_kernels() {
  return {{Op::SquaredNorm, squared_norm}, {Op::ClipDivisor, clip_divisor}};
}

}  // namespace regatta::reference
