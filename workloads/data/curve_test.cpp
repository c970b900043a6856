// SPDX-License-Identifier: Apache-2.0
#include "workloads/data/curve.h"

#include <gtest/gtest.h>

namespace regatta::workloads {
namespace {

TEST(Curve, HasFiftyPointsFromMinusTwoToTwo) {
  const DataSet data = make_curve();
  EXPECT_EQ(data.name, "curve");
  EXPECT_EQ(data.count, 50);
  EXPECT_EQ(data.inputs.dims, std::vector<std::int64_t>{1});
  ASSERT_EQ(data.inputs.as<float>().size(), 50U);
  ASSERT_EQ(data.targets.as<float>().size(), 50U);
  EXPECT_EQ(data.inputs.as<float>().front(), -2.0F);
  EXPECT_EQ(data.inputs.as<float>().back(), 2.0F);
  for (std::size_t i = 0; i + 1 < 50; ++i) {
    EXPECT_NEAR(data.inputs.as<float>()[i + 1] - data.inputs.as<float>()[i], 4.0 / 49, 1e-6);
  }
}

TEST(Curve, IsTheSquareAndSymmetricToTheLastBit) {
  const DataSet data = make_curve();
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_FLOAT_EQ(data.targets.as<float>()[i],
                    data.inputs.as<float>()[i] * data.inputs.as<float>()[i]);
    EXPECT_EQ(data.inputs.as<float>()[i], -data.inputs.as<float>()[49 - i]);
    EXPECT_EQ(data.targets.as<float>()[i], data.targets.as<float>()[49 - i]);
  }
}

}  // namespace
}  // namespace regatta::workloads
