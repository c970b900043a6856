// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/bar.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace regatta::matrix {
namespace {

TEST(Bar, IsAsLongAsItsShareInEighthsOfAColumn) {
  EXPECT_EQ(bar(1, 4, Glyphs::Unicode), "████");
  EXPECT_EQ(bar(0.5, 4, Glyphs::Unicode), "██");
  EXPECT_EQ(bar(0.5, 5, Glyphs::Unicode), "██▌");
  EXPECT_EQ(bar(0.5, 4, Glyphs::Ascii), "##");
  EXPECT_EQ(bar(7, 4, Glyphs::Ascii), "####");
}

TEST(Bar, ShowsMoreThanNothingAsSomething) {
  EXPECT_EQ(bar(1e-6, 40, Glyphs::Unicode), "▏");
  EXPECT_EQ(bar(1e-6, 40, Glyphs::Ascii), "#");
  EXPECT_EQ(bar(0, 40, Glyphs::Ascii), "");
}

TEST(Bar, IsOfBlocksWhereTheLocaleIsOfUnicode) {
  const auto glyphs = [](const char* all, const char* lang) {
    setenv("LC_ALL", all, 1);
    unsetenv("LC_CTYPE");
    setenv("LANG", lang, 1);
    return glyphs_of_locale();
  };
  EXPECT_EQ(glyphs("", "en_US.UTF-8"), Glyphs::Unicode);
  EXPECT_EQ(glyphs("C", "en_US.UTF-8"), Glyphs::Ascii);
  EXPECT_EQ(glyphs("C.utf8", "C"), Glyphs::Unicode);
  EXPECT_EQ(glyphs("", ""), Glyphs::Ascii);
}

}  // namespace
}  // namespace regatta::matrix
