// SPDX-License-Identifier: Apache-2.0
//
// tanh: dx = dy (1 - y²).   relu: dx = dy where y > 0.
// gelu: y = x Φ(x), dx = dy (Φ(x) + x φ(x)), Φ and φ of the standard normal distribution.
#include "kernels/cpu/activation_function.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

KernelPointer tanh(const KernelRequest& request) {
  return map_one(request, [](auto, Lanes x) { return fast_tanh(x); });
}

KernelPointer relu(const KernelRequest& request) {
  return map_one(request,
                 []<typename T>(T, Lanes x) { return ReluFunction::template value<T>(x); });
}

KernelPointer gelu(const KernelRequest& request) {
  return map_one(request,
                 []<typename T>(T, Lanes x) { return GeluFunction::template value<T>(x); });
}

KernelPointer tanh_backward(const KernelRequest& request) {
  return map_two(request, [](auto, Lanes dy, Lanes y) { return dy * (1.0F - y * y); });
}

KernelPointer relu_backward(const KernelRequest& request) {
  // y > 0 exactly where x > 0.
  return map_two(request, []<typename T>(T, Lanes dy, Lanes y) {
    return ReluFunction::template backward<T>(dy, y);
  });
}

KernelPointer gelu_backward(const KernelRequest& request) {
  return map_two(request, []<typename T>(T, Lanes dy, Lanes x) {
    return GeluFunction::template backward<T>(dy, x);
  });
}

}  // namespace

KernelRows activation_kernels() {
  return {{Op::Tanh, tanh},
          {Op::Relu, relu},
          {Op::Gelu, gelu},
          {Op::TanhBackward, tanh_backward},
          {Op::ReluBackward, relu_backward},
          {Op::GeluBackward, gelu_backward}};
}

}  // namespace regatta::cpu
