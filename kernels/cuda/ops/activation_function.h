// SPDX-License-Identifier: Apache-2.0
//
// relu and gelu and their derivatives with respect to x, for fused ops. A kernel selects the
// activation at run time, the same for all threads and before its loop over elements
// (with_activation): that costs less than a kernel for each.
//   gelu: y = x Φ(x), dx = dy (Φ(x) + x φ(x)), Φ and φ of the standard normal distribution.
#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/graph/fusion.h"

namespace regatta::cuda {

/// Φ and φ.
struct Normal {
  float distribution;
  float density;
};

/// From one exponential, with an absolute error of Φ of 1e-7. Source: Abramowitz and Stegun,
/// Handbook of Mathematical Functions, 7.1.26, with z = |x| / sqrt(2): Φ(-|x|) = erfc(z) / 2.
__host__ __device__ inline Normal normal_at(float x) {
  const float square = -0.5F * x * x;
  const float above = 1.0F + 0.231641888F * fabsf(x);  // 0.3275911 / sqrt(2)
#ifdef __CUDA_ARCH__
  // Each by one instruction, within 2 and 1 units in the last place near 0 and 1; the exact ones
  // branch. Source: CUDA C++ Programming Guide, Intrinsic Functions.
  const float power = __expf(square);
  const float t = __fdividef(1.0F, above);
#else
  const float power = expf(square);
  const float t = 1.0F / above;
#endif
  const float series =
      t * (0.254829592F +
           t * (-0.284496736F + t * (1.421413741F + t * (-1.453152027F + t * 1.061405429F))));
  const float below = 0.5F * series * power;
  return {.distribution = x < 0 ? below : 1.0F - below, .density = 0.398942280F * power};
}

__host__ __device__ inline float relu_value(float x) { return x < 0 ? 0.0F : x; }  // keeps a NaN
__host__ __device__ inline float gelu_value(float x) { return x * normal_at(x).distribution; }
__host__ __device__ inline float gelu_slope(float x) {
  const Normal normal = normal_at(x);
  return normal.distribution + x * normal.density;
}

template <Fusion::Activation kActivation>
__host__ __device__ inline float activate(float x) {
  if constexpr (kActivation == Fusion::Activation::Relu) return relu_value(x);
  if constexpr (kActivation == Fusion::Activation::Gelu) return gelu_value(x);
  return x;
}

/// dy times the derivative at x.
template <Fusion::Activation kActivation>
__host__ __device__ inline float activate_backward(float dy, float x) {
  if constexpr (kActivation == Fusion::Activation::Relu) return x > 0 ? dy : 0.0F;
  if constexpr (kActivation == Fusion::Activation::Gelu) return dy * gelu_slope(x);
  return dy;
}

/// visit(the activation as a std::integral_constant).
template <typename Visit>
__host__ __device__ inline void with_activation(Fusion::Activation activation, const Visit& visit) {
  using Activation = Fusion::Activation;
  switch (activation) {
    case Activation::Relu: return visit(std::integral_constant<Activation, Activation::Relu>{});
    case Activation::Gelu: return visit(std::integral_constant<Activation, Activation::Gelu>{});
    case Activation::None: break;
  }
  visit(std::integral_constant<Activation, Activation::None>{});
}

}  // namespace regatta::cuda
