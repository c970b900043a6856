// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/matrix_figure.h"

#include <gtest/gtest.h>

namespace regatta::matrix {
namespace {

TEST(GrowingFigure, IsDueAfterAPauseThatLimitsItsShareOfTheTime) {
  EXPECT_FALSE(drawing_is_due(4.9, 0));
  EXPECT_TRUE(drawing_is_due(5, 0));
  EXPECT_FALSE(drawing_is_due(39, 2));
  EXPECT_TRUE(drawing_is_due(40, 2));
}

}  // namespace
}  // namespace regatta::matrix
