// SPDX-License-Identifier: Apache-2.0
//
// squared_norm and clip_divisor, for every device that has kernels (test_support.h).
#include <algorithm>
#include <limits>

#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {
namespace {

constexpr Bound kBound{.relative = 1e-6};

TEST(SquaredNorm, AgreesWithTheReference) {
  OpCase op_case{Op::SquaredNorm, {}, {}, {}, "squared_norm"};
  // One value, small ones, ones that a border between threads cuts, and one of several blocks.
  for (const Dims& dims :
       {Dims{1}, Dims{3, 5}, Dims{77}, Dims{200, 129}, Dims{1, 7}, Dims{99999}}) {
    op_case.inputs.push_back(random_array(dims, static_cast<unsigned>(dims[0])));
    expect_agrees(op_case, kBound);
  }
}

TEST(SquaredNorm, LosesNothingOverTenMillionElements) {
  Array x({ElementType::F32, {10'000'019}});
  std::fill_n(x.f32(), x.type.elements(), 0.1F);
  const double expected = 10'000'019 * static_cast<double>(0.1F) * static_cast<double>(0.1F);
  for (const Subject& subject : subjects()) {
    const OpResult result = subject.run({Op::SquaredNorm, {}, {x}, {}, "squared_norm"}, 1);
    EXPECT_NEAR(*result.outputs[0].f32() / expected, 1, 1e-6) << subject.name;
  }
}

TEST(ClipDivisor, AgreesWithTheReferenceAndKeepsNaN) {
  Array squares({ElementType::F32, {1}});
  for (const float square : {0.0F, 0.5F, 1.0F, 30.0F, 1e12F}) {
    *squares.f32() = square;
    expect_agrees({Op::ClipDivisor, {{"limit", 0.9}}, {squares}, {}, "clip_divisor"}, kBound);
  }
  *squares.f32() = std::numeric_limits<float>::quiet_NaN();
  for (const Subject& subject : subjects()) {
    const OpResult result =
        subject.run({Op::ClipDivisor, {{"limit", 0.9}}, {squares}, {}, "NaN"}, 1);
    EXPECT_TRUE(std::isnan(*result.outputs[0].f32())) << subject.name;
  }
}

}  // namespace
}  // namespace regatta::cpu::test
