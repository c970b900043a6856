// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/shared.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace regatta {
namespace {

TEST(Shared, IsHeldOnceByItsCopiesUntilOneIsAssigned) {
  const Shared<std::string> first = std::string("first");
  Shared<std::string> copy = first;
  EXPECT_EQ(&*copy, &*first);
  copy = std::string("other");
  EXPECT_EQ(*first, "first");
  EXPECT_EQ(copy->size(), 5U);
}

TEST(Shared, StandsForAnEmptyValueWhereItHasNone) {
  Shared<std::string> none;
  EXPECT_FALSE(none.has_value());
  EXPECT_EQ(*none, "");
  none = std::string("one");
  EXPECT_TRUE(none);
  none.reset();
  EXPECT_FALSE(none);
}

TEST(SharedList, IsEqualByItsElements) {
  const SharedList<int> list{1, 2};
  const SharedList<int> copy = list;
  EXPECT_EQ(&copy.all(), &list.all());
  EXPECT_EQ(copy, list);
  EXPECT_EQ((SharedList<int>{1, 2}), list);
  EXPECT_FALSE((SharedList<int>{1, 3}) == list);
  EXPECT_EQ(SharedList<int>(), SharedList<int>(std::vector<int>{}));
}

}  // namespace
}  // namespace regatta
