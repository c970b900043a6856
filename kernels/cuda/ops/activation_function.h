// SPDX-License-Identifier: Apache-2.0
//
// relu and gelu and their derivatives with respect to x, for fused ops. A kernel selects the
// activation at run time, the same for all threads and before its loop over elements
// (with_activation), which costs less than a kernel for each activation.
//   gelu: y = x Φ(x), dx = dy (Φ(x) + x φ(x)), Φ and φ of the standard normal distribution.
#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/graph/fusion.h"

namespace regatta::cuda {

/// The values Φ(-|x|) (`below`) and φ(x) (`density`) for an x.
struct NormalTail {
  float below;
  float density;
};

/// Computes Φ(-|x|) and φ(x) with one exponential; Φ's absolute error is 1e-7. Source: Abramowitz
/// and Stegun, Handbook of Mathematical Functions, 7.1.26, with z = |x| / sqrt(2): Φ(-|x|) =
/// erfc(z) / 2.
__host__ __device__ inline NormalTail normal_tail(float x) {
  const float above = 1.0F + 0.231641888F * fabsf(x);  // 0.3275911 / sqrt(2)
#ifdef __CUDA_ARCH__
  // One instruction each, within 2 units in the last place; the exact functions branch.
  float power, t;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * x * -0.721347520F));  // log2(e) / 2
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(t) : "f"(above));
#else
  const float power = expf(-0.5F * x * x);
  const float t = 1.0F / above;
#endif
  const float series =
      t * (0.127414796F +
           t * (-0.142248368F + t * (0.710706871F + t * (-0.726576014F + t * 0.530702715F))));
  return {.below = series * power, .density = 0.398942280F * power};
}

__host__ __device__ inline float relu_value(float x) { return x < 0 ? 0.0F : x; }  // keeps a NaN
/// Returns x Φ(x), which is x - x Φ(-x) where x > 0.
__host__ __device__ inline float gelu_value(float x) {
  return fmaxf(x, 0.0F) - fabsf(x) * normal_tail(x).below;
}
__host__ __device__ inline float gelu_slope(float x) {
  const NormalTail tail = normal_tail(x);
  return 0.5F + copysignf(0.5F - tail.below, x) + x * tail.density;
}

template <Fusion::Activation kActivation>
__host__ __device__ inline float activate(float x) {
  if constexpr (kActivation == Fusion::Activation::Relu) return relu_value(x);
  if constexpr (kActivation == Fusion::Activation::Gelu) return gelu_value(x);
  return x;
}

/// Returns dy times the derivative at x.
template <Fusion::Activation kActivation>
__host__ __device__ inline float activate_backward(float dy, float x) {
  if constexpr (kActivation == Fusion::Activation::Relu) return x > 0 ? dy : 0.0F;
  if constexpr (kActivation == Fusion::Activation::Gelu) return dy * gelu_slope(x);
  return dy;
}

/// Calls visit with the activation as a std::integral_constant.
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
