// SPDX-License-Identifier: Apache-2.0
//
// The errors of the CPU's own math functions.
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/cpu/activation_function.h"
#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {
namespace {

/// Largest errors against `truth`, over every 97th f32 of both signs up to `bound`.
struct Errors {
  double absolute = 0;
  double ulps = 0;  ///< of the true result
};

template <typename Function, typename Truth>
Errors errors_of(const Function& function, const Truth& truth, float bound) {
  Errors errors;
  const auto last = std::bit_cast<std::uint32_t>(bound);
  for (std::uint32_t bits = 0; bits <= last; bits += 97) {
    for (const float x : {std::bit_cast<float>(bits), -std::bit_cast<float>(bits)}) {
      const double want = truth(static_cast<double>(x));
      const double error = std::abs(static_cast<double>(function(x)) - want);
      const auto rounded = std::abs(static_cast<float>(want));
      const double ulp =
          static_cast<double>(std::nextafter(rounded, 2.0F * rounded + 1.0F) - rounded);
      errors.absolute = std::max(errors.absolute, error);
      if (rounded >= std::numeric_limits<float>::min()) {
        errors.ulps = std::max(errors.ulps, error / ulp);
      }
    }
  }
  return errors;
}

double normal(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

TEST(FastTanh, ErrsByAFewUnitsInTheLastPlace) {
  const Errors errors = errors_of(
      fast_tanh<float>, [](double x) { return std::tanh(x); }, 100);
  RecordProperty("absolute", std::to_string(errors.absolute));
  RecordProperty("ulps", std::to_string(errors.ulps));
  EXPECT_LT(errors.absolute, 4e-7) << errors.ulps;
  EXPECT_LT(errors.ulps, 6) << errors.absolute;
}

TEST(FastErf, ErrsByAFewUnitsInTheLastPlace) {
  const Errors errors = errors_of(
      fast_erf<float>, [](double x) { return std::erf(x); }, 100);
  EXPECT_LT(errors.absolute, 4.5e-7) << errors.ulps;  // 4.1e-7 without fused multiply-add
  EXPECT_LT(errors.ulps, 8) << errors.absolute;
}

TEST(FastExpOfNegative, ErrsByAFewUnitsInTheLastPlace) {
  const Errors errors = errors_of([](float x) { return fast_exp_of_negative(-std::abs(x)); },
                                  [](double x) { return std::exp(-std::abs(x)); }, 86);
  EXPECT_LT(errors.ulps, 2) << errors.absolute;
}

double gelu_slope(double x) {
  return normal(x) + x * std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
}

TEST(ShortPolynomials, ErrByFarLessThanBf16Rounds) {
  EXPECT_LT(errors_of(short_normal_distribution<float>, normal, 100).absolute, 4e-6);
  EXPECT_LT(errors_of(short_gelu_slope<float>, gelu_slope, 100).absolute, 5e-5);
  for (const float x : {5.0F, 100.0F}) {
    EXPECT_NEAR(short_normal_distribution(x), 1, 1e-6);
    EXPECT_NEAR(short_normal_distribution(-x), 0, 1e-6);
    EXPECT_NEAR(short_gelu_slope(x), 1, 1e-6);
    EXPECT_NEAR(short_gelu_slope(-x), 0, 1e-6);
  }
}

TEST(VectorMath, KeepsNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(fast_tanh(nan)));
  EXPECT_TRUE(std::isnan(fast_erf(nan)));
  EXPECT_EQ(fast_tanh(std::numeric_limits<float>::infinity()), 1.0F);
  EXPECT_EQ(fast_tanh(-std::numeric_limits<float>::infinity()), -1.0F);
}

}  // namespace
}  // namespace regatta::cpu::test
