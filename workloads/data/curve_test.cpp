// SPDX-License-Identifier: Apache-2.0
#include "workloads/data/curve.h"

#include <gtest/gtest.h>

namespace regatta {
namespace {

TEST(Curve, HasFiftyPointsFromMinusTwoToTwo) {
  const DataSet data = make_curve();
  EXPECT_EQ(data.name, "curve");
  EXPECT_EQ(data.count, 50);
  EXPECT_FALSE(data.has_images());
  ASSERT_EQ(data.features.size(), 50U);
  ASSERT_EQ(data.targets.size(), 50U);
  EXPECT_EQ(data.features.front(), -2.0F);
  EXPECT_EQ(data.features.back(), 2.0F);
  for (std::size_t i = 0; i + 1 < 50; ++i) {
    EXPECT_NEAR(data.features[i + 1] - data.features[i], 4.0 / 49, 1e-6);
  }
}

TEST(Curve, IsTheSquareAndSymmetricToTheLastBit) {
  const DataSet data = make_curve();
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_FLOAT_EQ(data.targets[i], data.features[i] * data.features[i]);
    EXPECT_EQ(data.features[i], -data.features[49 - i]);
    EXPECT_EQ(data.targets[i], data.targets[49 - i]);
  }
}

}  // namespace
}  // namespace regatta
