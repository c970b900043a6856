// SPDX-License-Identifier: Apache-2.0
//
// Tests libraries that are found at run time or are missing.
#include "kernels/cuda/library/library.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/cuda/device/on_devices_for_test.h"
#include "kernels/cuda/ops/noise.h"
#include "kernels/cuda/ops/widen.h"

namespace regatta::cuda {
namespace {

TEST(Library, TellsItsVersionOrWhatIsMissing) {
  EXPECT_NE(version_of_cublas_lt().has_value(), why_no_cublas_lt().find("libcublasLt") == 0);
  EXPECT_NE(version_of_cudnn().has_value(), why_no_cudnn().find("libcudnn") == 0);
  if (version_of_cublas_lt()) {
    EXPECT_EQ(version_of_cublas_lt()->substr(0, 3), "13.");
  }
  if (version_of_cudnn()) {
    EXPECT_EQ(version_of_cudnn()->substr(0, 2), "9.");
  }
}

class Widen : public testing_support::OnDevices {};
INSTANTIATE_TEST_SUITE_P(On, Widen, testing_support::kDevices, testing_support::name_of_device);

TEST_P(Widen, CopiesBothElementTypesToF32) {
  float* const to = allocate<float>(2);
  widen(queue(),
        {.type = {ElementType::BF16, {2}}, .data = upload<std::uint16_t>({0x3F80, 0xC000})}, to);
  queue().finish();
  EXPECT_EQ(read(to, 2), (std::vector<float>{1, -2}));
  widen(queue(), {.type = {ElementType::F32, {2}}, .data = upload<float>({3, 4})}, to);
  queue().finish();
  EXPECT_EQ(read(to, 2), (std::vector<float>{3, 4}));
}

class Noise : public testing_support::OnDevices {};
INSTANTIATE_TEST_SUITE_P(On, Noise, testing_support::kDevices, testing_support::name_of_device);

TEST_P(Noise, IsSpreadEvenlyFromMinusOneToOne) {
  constexpr std::int64_t kElements = 100'000;
  float* const to = allocate<float>(kElements);
  fill_with_noise(queue(), {.type = {ElementType::F32, {kElements}}, .data = to});
  queue().finish();
  double sum = 0, squares = 0;
  for (const float value : read(to, kElements)) {
    ASSERT_LE(std::abs(value), 1);
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  EXPECT_NEAR(sum / kElements, 0, 0.01);
  EXPECT_NEAR(squares / kElements, 1.0 / 3, 0.01);
}

}  // namespace
}  // namespace regatta::cuda
