// SPDX-License-Identifier: Apache-2.0
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

TEST(Activations, KeepNaNWhereverItStands) {
  // Vector body and remainder of the loop.
  for (Op op : {Op::Tanh, Op::Relu, Op::Gelu}) {
    for (std::int64_t at = 0; at < 37; ++at) {
      Array x = random_array({37}, 1);
      x.f32()[at] = std::numeric_limits<float>::quiet_NaN();
      const OpResult result = run_op(cpu_table(), {op, {}, {x}, {}, "nan"}, 1);
      for (std::int64_t i = 0; i < 37; ++i) {
        ASSERT_EQ(std::isnan(result.outputs[0].f32()[i]), i == at)
            << to_string(op) << " with NaN at " << at << ", element " << i;
      }
    }
  }
}

// One element, a remainder of every vector length, and enough for two threads.
const Dims kSizes[] = {{1}, {50, 5}, {3, 7, 11, 3}, {2, 40, 40, 24}};

/// Values in [-scale, scale), where functions bend.
Array scaled(const Dims& dims, unsigned seed, float scale) {
  Array array = random_array(dims, seed);
  for (std::int64_t i = 0; i < array.type.elements(); ++i) array.f32()[i] *= scale;
  return array;
}

// The functions' own errors, above, times values up to 8.
constexpr Bound kBound{.absolute = 4e-6, .relative = 1e-6};
// Likewise of the short polynomials: 3.3e-6 times values up to 8, 4.3e-5 times gradients up to 1.
constexpr Bound kShortBound{.absolute = 5e-5, .relative = 1e-6};

TEST(Activations, AgreeWithTheReference) {
  for (const Dims& dims : kSizes) {
    for (Op op : {Op::Tanh, Op::Relu, Op::Gelu}) {
      const OpCase op_case{op, {}, {scaled(dims, 1, 8)}, {}, std::string(to_string(op))};
      expect_agrees(op_case, kBound);
      expect_agrees_in_bf16(op_case, 1, kShortBound);
    }
  }
}

TEST(ActivationsBackward, AgreeWithTheReference) {
  for (const Dims& dims : kSizes) {
    for (Op op : {Op::TanhBackward, Op::ReluBackward, Op::GeluBackward}) {
      const float scale = op == Op::TanhBackward ? 1 : 8;
      const OpCase op_case{
          op, {}, {random_array(dims, 1), scaled(dims, 2, scale)}, {}, std::string(to_string(op))};
      expect_agrees(op_case, kBound);
      expect_agrees_in_bf16(op_case, 2, kShortBound);
    }
  }
}

TEST(Gelu, IsExactRatherThanTheTanhApproximation) {
  Array x({ElementType::F32, {1}});
  x.f32()[0] = 2.0F;  // the approximation by tanh is off by 1e-4 there
  const OpResult result = run_op(cpu_table(), {Op::Gelu, {}, {x}, {}, "gelu"}, 1);
  EXPECT_NEAR(result.outputs[0].f32()[0], 2 * normal(2), 1e-6);
}

}  // namespace
}  // namespace regatta::cpu::test
