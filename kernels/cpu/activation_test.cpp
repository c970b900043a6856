// SPDX-License-Identifier: Apache-2.0
//
// tanh, relu, gelu, swiglu, for every device that has kernels (test_support.h).
#include <cmath>
#include <limits>

#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {
namespace {

double normal(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

TEST(Activations, KeepNaNWhereverItStands) {
  // Sizes cover the loop's vector body and its remainder.
  for (Op op : {Op::Tanh, Op::Relu, Op::Gelu}) {
    for (std::int64_t at = 0; at < 37; ++at) {
      Array x = random_array({37}, 1);
      x.f32()[at] = std::numeric_limits<float>::quiet_NaN();
      for (const Subject& subject : subjects()) {
        const OpResult result = subject.run({op, {}, {x}, {}, "nan"}, 1);
        for (std::int64_t i = 0; i < 37; ++i) {
          ASSERT_EQ(std::isnan(result.outputs[0].f32()[i]), i == at)
              << to_string(op) << " with NaN at " << at << ", element " << i << subject.name;
        }
      }
    }
  }
}

// One element, a remainder of every vector length, and enough for two threads.
const Dims kSizes[] = {{1}, {50, 5}, {3, 7, 11, 3}, {2, 40, 40, 24}};

/// Values in [-scale, scale), where the functions are not yet straight.
Array scaled(const Dims& dims, unsigned seed, float scale) {
  Array array = random_array(dims, seed);
  for (std::int64_t i = 0; i < array.type.elements(); ++i) array.f32()[i] *= scale;
  return array;
}

// The functions' own errors (on the CPU: vector_math_test.cpp) times values up to 8.
constexpr Bound kBound{.absolute = 4e-6, .relative = 1e-6};
// Error bound of the CPU's short polynomials: 3.3e-6 times values up to 8, 4.3e-5 times gradients
// up to 1.
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

// Odd widths and one of several registers; the last enters OpenMP on two threads.
const Dims kPairs[] = {{1, 2}, {5, 14}, {3, 7, 70}, {90, 2 * 400}};

TEST(Swiglu, AgreesWithTheReference) {
  for (const Dims& dims : kPairs) {
    const OpCase op_case{Op::Swiglu, {}, {scaled(dims, 1, 8)}, {}, "swiglu"};
    expect_agrees(op_case, kBound);
    expect_agrees_in_bf16(op_case, 1, kBound);
    Dims half = dims;
    half.back() /= 2;
    const OpCase back{
        Op::SwigluBackward, {}, {random_array(half, 1), scaled(dims, 2, 8)}, {}, "swiglu_backward"};
    expect_agrees(back, kBound);
    expect_agrees_in_bf16(back, 2, kBound);
  }
}

TEST(Swiglu, IsFiniteFarFromZero) {
  Array x({ElementType::F32, {2, 2}}), dy({ElementType::F32, {2, 1}});
  for (const auto& [i, value] : {std::pair{0, 1e4F}, {1, 3.0F}, {2, -1e4F}, {3, 3.0F}}) {
    x.f32()[i] = value;
  }
  dy.f32()[0] = dy.f32()[1] = 1;
  expect_agrees({Op::Swiglu, {}, {x}, {}, "swiglu"}, kBound);
  expect_agrees({Op::SwigluBackward, {}, {dy, x}, {}, "swiglu_backward"}, kBound);
}

TEST(Gelu, IsExactRatherThanTheTanhApproximation) {
  Array x({ElementType::F32, {1}});
  x.f32()[0] = 2.0F;  // gelu's approximation by tanh errs by 1e-4 here
  for (const Subject& subject : subjects()) {
    const OpResult result = subject.run({Op::Gelu, {}, {x}, {}, "gelu"}, 1);
    EXPECT_NEAR(result.outputs[0].f32()[0], 2 * normal(2), 1e-6) << subject.name;
  }
}

}  // namespace
}  // namespace regatta::cpu::test
