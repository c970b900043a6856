// SPDX-License-Identifier: Apache-2.0
//
// Math functions without branches, for one f32 (they vectorise in a loop, unlike libm's) or for
// lanes.h's registers. A NaN argument gives a NaN: comparisons with NaN are false, and the
// selections then keep the argument. Largest errors against libm in double over every seventh f32,
// absolute and in units of the last place: tanh 3.0e-7, 5.0; erf 3.9e-7, 6.5; exp 5.0e-8, 1.0.
// vector_math_test.cpp checks bounds.
#pragma once

#include <array>
#include <numbers>

#include "kernels/cpu/lanes.h"

namespace regatta::cpu {

template <typename V>
inline V clamp_symmetric(V x, float bound) {
  const V below = select(x > bound, bound, x);
  return select(below < -bound, -bound, below);
}

/// Returns tanh as a quotient of polynomials of degrees 13 and 6; x is factored out, so that tiny
/// arguments do not underflow. Source: Eigen, generic_fast_tanh_float (MathFunctionsImpl.h); beyond
/// the bound the result in f32 is 1.
template <typename V>
inline V fast_tanh(V argument) {
  const V x = clamp_symmetric(argument, 7.90531110763549805F);
  const V s = x * x;
  V p = -2.76076847742355e-16F * s + 2.00018790482477e-13F;
  p = p * s + -8.60467152213735e-11F;
  p = p * s + 5.12229709037114e-08F;
  p = p * s + 1.48572235717979e-05F;
  p = p * s + 6.37261928875436e-04F;
  p = p * s + 4.89352455891786e-03F;
  V q = 1.19825839466702e-06F * s + 1.18534705686654e-04F;
  q = q * s + 2.26843463243900e-03F;
  q = q * s + 4.89352518554385e-03F;
  return x * (p / q);
}

/// Returns the error function as a quotient of polynomials of degrees 13 and 8. Source: Eigen 3.4,
/// generic_fast_erf_float (SpecialFunctionsImpl.h).
template <typename V>
inline V fast_erf(V argument) {
  const V x = clamp_symmetric(argument, 4.0F);
  const V s = x * x;
  V p = -2.72614225801306e-10F * s + 2.77068142495902e-08F;
  p = p * s + -2.10102402082508e-06F;
  p = p * s + -5.69250639462346e-05F;
  p = p * s + -7.34990630326855e-04F;
  p = p * s + -2.95459980854025e-03F;
  p = p * s + -1.60960333262415e-02F;
  V q = -1.45660718464996e-05F * s + -2.13374055278905e-04F;
  q = q * s + -1.68282697438203e-03F;
  q = q * s + -7.37332916720468e-03F;
  q = q * s + -1.42647390514189e-02F;
  return x * (p / q);
}

/// Returns exp of an argument in [-87, 0]; smaller arguments give exp(-87). Source: Cephes, expf:
/// exp(x) = 2^n exp(r), |r| <= ln 2 / 2, exp(r) = 1 + r + r² p(r), p of degree 5.
template <typename V>
inline V fast_exp_of_negative(V argument) {
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const V x = select(argument < -87.0F, -87.0F, argument);
  const V n = (x * std::numbers::log2e_v<float> + kRounder) - kRounder;
  const V r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
  V p = 1.9875691500e-4F * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  return (p * r * r + r + 1.0F) * power_of_two(n);
}

/// Returns the cumulative distribution function of the standard normal distribution at x.
template <typename V>
inline V normal_distribution(V x) {
  constexpr float kInverseSqrt2 = std::numbers::sqrt2_v<float> / 2;
  return 0.5F + 0.5F * fast_erf(x * kInverseSqrt2);
}

template <typename V>
inline V normal_density(V x) {
  constexpr float kFactor = std::numbers::inv_sqrtpi_v<float> * std::numbers::sqrt2_v<float> / 2;
  return kFactor * fast_exp_of_negative(-0.5F * x * x);
}

}  // namespace regatta::cpu
