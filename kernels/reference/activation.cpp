// SPDX-License-Identifier: Apache-2.0
//
// tanh: dx = dy (1 - y²).   relu: dx = dy where y > 0.
// gelu: y = x Φ(x), dx = dy (Φ(x) + x φ(x)), Φ and φ of the standard normal distribution.
// swiglu of rows (a, b): y = a σ(a) b; da = dy b σ(a) (1 + a (1 - σ(a))), db = dy a σ(a).
#include <cmath>
#include <numbers>

#include "kernels/runtime/kernel.h"

namespace regatta::reference {
namespace {

double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double normal_density(double x) {
  return std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

/// Kernel for y[i] = function(x[i]).
KernelPointer forward(const KernelRequest& request, double (*function)(double)) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  return make_kernel([=](const StepContext&) {
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      y.f32()[i] = static_cast<float>(function(x.f32()[i]));
    }
  });
}

/// Kernel for dx[i] = dy[i] * slope(s[i]), where s is the saved x or y.
KernelPointer backward(const KernelRequest& request, double (*slope)(double)) {
  const Tensor dy = request.inputs[0], saved = request.inputs[1], dx = request.outputs[0];
  return make_kernel([=](const StepContext&) {
    for (std::int64_t i = 0; i < dy.elements(); ++i) {
      dx.f32()[i] = static_cast<float>(dy.f32()[i] * slope(saved.f32()[i]));
    }
  });
}

KernelPointer tanh(const KernelRequest& request) {
  return forward(request, [](double x) { return std::tanh(x); });
}

KernelPointer tanh_backward(const KernelRequest& request) {
  return backward(request, [](double y) { return 1 - y * y; });
}

KernelPointer relu(const KernelRequest& request) {
  // This order keeps a NaN.
  return forward(request, [](double x) { return x < 0 ? 0.0 : x; });
}

KernelPointer gelu(const KernelRequest& request) {
  return forward(request, [](double x) { return x * normal_distribution(x); });
}

KernelPointer relu_backward(const KernelRequest& request) {
  return backward(request, [](double y) { return y > 0 ? 1.0 : 0.0; });
}

KernelPointer gelu_backward(const KernelRequest& request) {
  return backward(request, [](double x) { return normal_distribution(x) + x * normal_density(x); });
}

KernelPointer swiglu(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  const std::int64_t columns = y.type.columns();
  return make_kernel([=](const StepContext&) {
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const float* pair = x.f32() + i / columns * 2 * columns + i % columns;
      y.f32()[i] = static_cast<float>(pair[0] / (1 + std::exp(-double{pair[0]})) * pair[columns]);
    }
  });
}

KernelPointer swiglu_backward(const KernelRequest& request) {
  const Tensor dy = request.inputs[0], x = request.inputs[1], dx = request.outputs[0];
  const std::int64_t columns = dy.type.columns();
  return make_kernel([=](const StepContext&) {
    for (std::int64_t i = 0; i < dy.elements(); ++i) {
      const std::int64_t at = i / columns * 2 * columns + i % columns;
      const double a = x.f32()[at], b = x.f32()[at + columns], sigma = 1 / (1 + std::exp(-a));
      dx.f32()[at] = static_cast<float>(dy.f32()[i] * b * sigma * (1 + a * (1 - sigma)));
      dx.f32()[at + columns] = static_cast<float>(dy.f32()[i] * a * sigma);
    }
  });
}

}  // namespace

KernelRows activation_kernels() {
  return {{Op::Tanh, tanh},
          {Op::Relu, relu},
          {Op::Gelu, gelu},
          {Op::Swiglu, swiglu},
          {Op::TanhBackward, tanh_backward},
          {Op::ReluBackward, relu_backward},
          {Op::GeluBackward, gelu_backward},
          {Op::SwigluBackward, swiglu_backward}};
}

}  // namespace regatta::reference
