// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/shared.h"

#include <gtest/gtest.h>

#include <algorithm>
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

TEST(ListOfShared, ChangesAnElementInOneListAlone) {
  ListOfShared<std::string> list;
  for (const char* name : {"a", "b", "c"}) list.push_back(name);
  ListOfShared<std::string> copy = list;
  copy.change(1) = "changed";
  copy.share(list, 2);
  EXPECT_EQ(list[1], "b");
  EXPECT_EQ(std::vector<std::string>(copy.begin(), copy.end()),
            (std::vector<std::string>{"a", "changed", "c", "c"}));
  EXPECT_EQ(&copy[0], &list[0]);
  EXPECT_EQ(&copy[3], &list[2]);
}

TEST(ListOfShared, IsWalkedAtRandom) {
  ListOfShared<int> list;
  for (int i = 0; i < 10; ++i) list.push_back(i);
  EXPECT_EQ(list.end() - list.begin(), 10);
  EXPECT_EQ(*(list.end() - 1), 9);
  EXPECT_EQ(list.begin()[4], 4);
  EXPECT_EQ(std::lower_bound(list.begin(), list.end(), 7) - list.begin(), 7);
  EXPECT_LT(list.begin(), list.end());
}

}  // namespace
}  // namespace regatta
