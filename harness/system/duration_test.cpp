// SPDX-License-Identifier: Apache-2.0
#include "harness/system/duration.h"

#include <gtest/gtest.h>

#include "kernels/base/error_for_test.h"

namespace regatta::system {
namespace {

using regatta::testing_support::error_of;

TEST(Duration, HasANumberAndAUnit) {
  EXPECT_EQ(parse_duration("--within", "90s"), 90);
  EXPECT_EQ(parse_duration("--within", "3min"), 180);
  EXPECT_EQ(parse_duration("--within", "1.5h"), 5400);
}

TEST(Duration, OfAnotherFormIsAnErrorThatShowsTheRightOne) {
  for (const char* wrong : {"", "3", "min", "3m", "3 min", "-3min", "0s", "+3s", "3minutes", "infs",
                            "nanh", "1e999s", "0x1s", "3min "}) {
    const std::string error = error_of([&] { parse_duration("--within", wrong); });
    EXPECT_EQ(error, std::string("--within '") + wrong +
                         "': write a number above 0 and its unit, s, min or h, such as "
                         "90s, 3min or 1.5h");
  }
}

TEST(Duration, IsReadAsRoughlyAsItIsKnown) {
  EXPECT_EQ(rough_duration(3.21), "3.2 s");
  EXPECT_EQ(rough_duration(41.4), "41 s");
  EXPECT_EQ(rough_duration(700), "12 min");
  EXPECT_EQ(rough_duration(10'800), "3 h");
}

}  // namespace
}  // namespace regatta::system
