// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/elements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace regatta {
namespace {

class Squares {
 public:
  std::string at(int i) const { return std::to_string(i * i); }
  Elements<&Squares::at> all() const { return {*this, 10}; }
};

TEST(Elements, AreARange) {
  const Squares squares;
  const std::vector<std::string> all(squares.all().begin(), squares.all().end());
  ASSERT_EQ(all.size(), 10U);
  std::size_t i = 0;
  for (const std::string& text : squares.all()) EXPECT_EQ(text, all[i++]);
  EXPECT_EQ(squares.all()[4], "16");
  EXPECT_EQ(squares.all().front(), "0");
  EXPECT_EQ(squares.all().back(), "81");
  EXPECT_FALSE(squares.all().empty());
}

TEST(Elements, AreWalkedAtRandomAfterTheRangeIsGone) {
  const Squares squares;
  const auto first = squares.all().begin();
  const auto end = squares.all().end();
  EXPECT_EQ(end - first, 10);
  EXPECT_EQ(*(end - 1), "81");
  EXPECT_EQ(first[3], "9");
  EXPECT_EQ((first + 5)->size(), 2U);
  EXPECT_LT(first, end);
  EXPECT_EQ(std::find(first, end, "36") - first, 6);
}

}  // namespace
}  // namespace regatta
