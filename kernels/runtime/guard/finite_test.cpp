// SPDX-License-Identifier: Apache-2.0
//
// Tests that a NaN or infinity is found anywhere in a tensor, and that all other values are finite.
#include "kernels/runtime/guard/finite.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace regatta {
namespace {

using Limits = std::numeric_limits<float>;

Tensor tensor_of(std::vector<float>& values) {
  return {.type = {ElementType::F32, {static_cast<std::int64_t>(values.size())}},
          .data = values.data()};
}

Tensor tensor_of(std::vector<std::uint16_t>& values) {
  return {.type = {ElementType::BF16, {static_cast<std::int64_t>(values.size())}},
          .data = values.data()};
}

TEST(Finite, SeesEveryElement) {
  for (const std::size_t size : {1U, 7U, 64U, 4095U, 4096U, 4097U, 10'000U}) {
    std::vector<float> values(size, 1);
    EXPECT_TRUE(all_finite(tensor_of(values)));
    for (std::size_t at = 0; at < size; at += size < 100 ? 1 : size / 7) {
      values[at] = Limits::quiet_NaN();
      EXPECT_FALSE(all_finite(tensor_of(values))) << at << " of " << size;
      values[at] = 1;
    }
    values.back() = -Limits::infinity();
    EXPECT_FALSE(all_finite(tensor_of(values))) << size;
  }
}

TEST(Finite, AreTheLargestAndTheSmallest) {
  std::vector<float> values = {Limits::max(), Limits::lowest(), Limits::denorm_min(), -0.0F};
  EXPECT_TRUE(all_finite(tensor_of(values)));
  values[2] = Limits::infinity();
  EXPECT_FALSE(all_finite(tensor_of(values)));
}

TEST(Finite, IsABf16ThatIsNot) {
  std::vector<std::uint16_t> values = {0x3F80, 0x7F7F, 0x8000, 0x0001};
  EXPECT_TRUE(all_finite(tensor_of(values)));
  for (const std::uint16_t bad : {0x7F80, 0xFF80, 0x7FC0, 0xFFFF}) {
    values[1] = bad;
    EXPECT_FALSE(all_finite(tensor_of(values))) << bad;
  }
}

TEST(Finite, IsEveryInteger) {
  std::vector<std::int32_t> values = {0x7F800000, -1};
  EXPECT_TRUE(all_finite({.type = {ElementType::I32, {2}}, .data = values.data()}));
}

}  // namespace
}  // namespace regatta
