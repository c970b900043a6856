// SPDX-License-Identifier: Apache-2.0
//
// relu and gelu and their derivatives with respect to x, for fused ops. The kernel selects the
// activation at run time, the same for all threads; that costs less than a kernel for each.
//   gelu: y = x Φ(x), dx = dy (Φ(x) + x φ(x)), Φ and φ of the standard normal distribution.
#pragma once

#include <cmath>

#include "kernels/graph/fusion.h"

namespace regatta::cuda {

__host__ __device__ inline float normal_distribution(float x) {
  return 0.5F * (1.0F + erff(x * 0.707106781F));
}
__host__ __device__ inline float normal_density(float x) {
  return 0.398942280F * expf(-0.5F * x * x);
}

__host__ __device__ inline float relu_value(float x) { return x < 0 ? 0.0F : x; }  // keeps a NaN
__host__ __device__ inline float gelu_value(float x) { return x * normal_distribution(x); }
__host__ __device__ inline float gelu_slope(float x) {
  return normal_distribution(x) + x * normal_density(x);
}

__host__ __device__ inline float activate(Fusion::Activation activation, float x) {
  switch (activation) {
    case Fusion::Activation::Relu: return relu_value(x);
    case Fusion::Activation::Gelu: return gelu_value(x);
    case Fusion::Activation::None: break;
  }
  return x;
}

/// dy times the derivative at x.
__host__ __device__ inline float activate_backward(Fusion::Activation activation, float dy,
                                                   float x) {
  switch (activation) {
    case Fusion::Activation::Relu: return x > 0 ? dy : 0.0F;
    case Fusion::Activation::Gelu: return dy * gelu_slope(x);
    case Fusion::Activation::None: break;
  }
  return dy;
}

}  // namespace regatta::cuda
