// SPDX-License-Identifier: Apache-2.0
//
// relu and gelu and their derivatives with respect to x, for fused ops. An argument is one f32 or a
// register of f32 (lanes.h); T is the element type to which results will be rounded. The f32
// versions use vector_math.h; bf16 keeps 8 bits, so polynomials suffice:
//   Φ(x) = 1/2 + x P(t), Φ(x) + x φ(x) = 1/2 + x Q(t), with t = 2 x² / 25 - 1, |x| <= 5.
// P and Q have degree 11 and interpolate at Chebyshev's nodes in t; P(1) and Q(1) are set to 1/10,
// so that far from zero the results are x, 1 and 0. Largest absolute errors: 3.3e-6 for Φ, 4.3e-5
// for the derivative; half a unit in bf16's last place at 1 is 2e-3.
#pragma once

#include "kernels/cpu/vector_math.h"
#include "kernels/graph/fusion.h"

namespace regatta::cpu {

/// Returns 1/2 + x p(t), with x clamped to [-5, 5] and t = 2 x² / 25 - 1; `coefficients` are those
/// of the polynomial p, highest power first.
template <typename V>
inline V half_plus_odd(V argument, const float (&coefficients)[12]) {
  const V x = clamp_symmetric(argument, 5.0F);
  const V t = x * x * 0.08F - 1.0F;
  V p = coefficients[0] * t + coefficients[1];
#pragma GCC unroll 10
  for (int i = 2; i < 12; ++i) p = p * t + coefficients[i];
  return x * p + 0.5F;
}

template <typename V>
inline V short_normal_distribution(V x) {
  constexpr float kP[] = {-1.676730928e-03F, 3.580725286e-03F, -2.526916796e-03F, 4.284632392e-03F,
                          -1.130712498e-02F, 1.752299815e-02F, -2.321312763e-02F, 3.117514029e-02F,
                          -4.045128077e-02F, 5.154378340e-02F, -7.029590756e-02F, 1.413638145e-01F};
  return half_plus_odd(x, kP);
}

template <typename V>
inline V short_gelu_slope(V x) {
  constexpr float kQ[] = {-2.584466524e-02F, 4.908631369e-02F, -1.491602417e-02F, 1.544238999e-02F,
                          -7.996691018e-02F, 9.961950034e-02F, -8.087882400e-02F, 7.568346709e-02F,
                          -7.224082202e-02F, 6.697678566e-02F, -7.509285957e-02F, 1.421316564e-01F};
  return half_plus_odd(x, kQ);
}

struct NoActivation {
  template <typename T, typename V>
  static V value(V x) {
    return x;
  }
  /// Returns dy times the derivative at x.
  template <typename T, typename V>
  static V backward(V dy, V) {
    return dy;
  }
};

struct ReluFunction {
  template <typename T, typename V>
  static V value(V x) {
    return select(x < 0.0F, 0.0F, x);  // this order keeps a NaN
  }
  template <typename T, typename V>
  static V backward(V dy, V x) {
    return select(x > 0.0F, dy, 0.0F);
  }
};

struct GeluFunction {
  template <typename T, typename V>
  static V value(V x) {
    if constexpr (sizeof(T) < sizeof(float)) {
      return x * short_normal_distribution(x);
    } else {
      return x * normal_distribution(x);
    }
  }
  template <typename T, typename V>
  static V backward(V dy, V x) {
    if constexpr (sizeof(T) < sizeof(float)) {
      return dy * short_gelu_slope(x);
    } else {
      return dy * (normal_distribution(x) + x * normal_density(x));
    }
  }
};

/// Returns build(f), where f is an object of the type above that implements `activation`.
template <typename Build>
auto with_activation(Fusion::Activation activation, const Build& build) {
  switch (activation) {
    case Fusion::Activation::Relu: return build(ReluFunction{});
    case Fusion::Activation::Gelu: return build(GeluFunction{});
    case Fusion::Activation::None: break;
  }
  return build(NoActivation{});
}

}  // namespace regatta::cpu
