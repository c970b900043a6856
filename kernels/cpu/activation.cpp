// SPDX-License-Identifier: Apache-2.0
//
// tanh: dx = dy (1 - y²).   relu: dx = dy where y > 0.
// gelu: y = x Φ(x), dx = dy (Φ(x) + x φ(x)), Φ and φ of the standard normal distribution.
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/vector_math.h"

namespace regatta::cpu {

KernelPointer tanh(const KernelRequest& request) {
  return map_one(request, [](float x) { return fast_tanh(x); });
}

KernelPointer relu(const KernelRequest& request) {
  // Written so that a NaN stays one.
  return map_one(request, [](float x) { return x < 0 ? 0.0F : x; });
}

KernelPointer gelu(const KernelRequest& request) {
  return map_one(request, [](float x) { return x * normal_distribution(x); });
}

KernelPointer tanh_backward(const KernelRequest& request) {
  return map_two(request, [](float dy, float y) { return dy * (1 - y * y); });
}

KernelPointer relu_backward(const KernelRequest& request) {
  return map_two(request, [](float dy, float y) { return y > 0 ? dy : 0.0F; });
}

KernelPointer gelu_backward(const KernelRequest& request) {
  return map_two(request, [](float dy, float x) {
    return dy * (normal_distribution(x) + x * normal_density(x));
  });
}

}  // namespace regatta::cpu
