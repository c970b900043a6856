// SPDX-License-Identifier: Apache-2.0
#include "harness/system/number.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/base/error.h"

namespace regatta::system {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Number, IsDecimalWhateverZerosStandBeforeIt) {
  EXPECT_EQ(parse_number<std::int64_t>("--steps", "010"), 10);
  EXPECT_EQ(parse_number<std::int64_t>("--steps", "-08"), -8);
  EXPECT_EQ(parse_number<std::uint64_t>("--seed", "18446744073709551615"),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parse_number<double>("--target", "0.50"), 0.5);
  EXPECT_EQ(parse_number<double>("--target", "1e-3"), 0.001);
}

TEST(Number, IsRefusedWhereItIsNone) {
  for (const std::string text :
       {"", " 1", "1 ", "0x10", "1e3", "ten", "1.5", "9223372036854775808"}) {
    EXPECT_THAT([&] { parse_number<std::int64_t>("--steps", text); },
                ThrowsMessage<RunError>("--steps: '" + text + "' is not a whole number"));
  }
  EXPECT_THAT([] { parse_number<std::uint64_t>("--seed", "-1"); },
              ThrowsMessage<RunError>("--seed: '-1' is not a whole number from 0 to 2^64 - 1"));
  for (const std::string text : {"", "inf", "-inf", "nan", "1e999", "0x1p3", "1,5"}) {
    EXPECT_THAT([&] { parse_number<double>("--target", text); },
                ThrowsMessage<RunError>(HasSubstr("'" + text + "' is not a finite decimal")));
  }
}

TEST(Number, StaysInItsRange) {
  const NumberRange<double> effect{
      .least = 0, .most = 1, .bound = NumberRange<double>::Least::Excluded};
  EXPECT_EQ(parse_number("--alpha", "1", effect), 1);
  for (const std::string text : {"0", "-0", "-1", "1.01"}) {
    EXPECT_THAT([&] { parse_number("--alpha", text, effect); },
                ThrowsMessage<RunError>(HasSubstr("is not a finite decimal number above 0 to 1")));
  }
  EXPECT_THAT([] { parse_number<std::int64_t>("--seeds", "0", {.least = 1, .most = 9}); },
              ThrowsMessage<RunError>("--seeds: '0' is not a whole number from 1 to 9"));
}

}  // namespace
}  // namespace regatta::system
