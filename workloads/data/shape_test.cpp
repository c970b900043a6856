// SPDX-License-Identifier: Apache-2.0
#include "workloads/data/shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

namespace regatta::workloads {
namespace {

TEST(Shape, OutlinesDifferFromEachOtherAndStayWithinReach) {
  std::set<std::string> outlines;
  for (int n = 0; n < kShapeCount; ++n) {
    const auto shape = static_cast<Shape>(n);
    std::string outline;
    for (int v = -2000; v <= 2000; v += 50) {
      for (int u = -2000; u <= 2000; u += 50) {
        const bool inside = covers(shape, {u, v});
        outline += inside ? '#' : '.';
        EXPECT_TRUE(!inside || u * u + v * v <= kReach * kReach) << "shape " << n;
        EXPECT_TRUE(!inside || std::max(std::abs(u), std::abs(v)) <= kUnit) << "shape " << n;
      }
    }
    outlines.insert(outline);
  }
  EXPECT_EQ(outlines.size(), 10U);
}

}  // namespace
}  // namespace regatta::workloads
