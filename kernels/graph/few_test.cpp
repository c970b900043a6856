// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/few.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace regatta {
namespace {

using Two = Few<int, 2>;

std::vector<int> all(const Two& list) { return {list.begin(), list.end()}; }

TEST(Few, HoldsAFewInsideAndMoreOnTheHeap) {
  Two list{1, 2};
  const auto is_inside = [&list] {
    const auto* data = static_cast<const void*>(list.data());
    return data >= static_cast<const void*>(&list) && data < static_cast<const void*>(&list + 1);
  };
  EXPECT_TRUE(is_inside());
  for (int i = 3; i < 20; ++i) list.push_back(i);
  EXPECT_FALSE(is_inside());
  EXPECT_EQ(list.size(), 19U);
  for (int i = 1; i < 20; ++i) EXPECT_EQ(list[static_cast<std::size_t>(i) - 1], i);
}

TEST(Few, TakesAnElementOfItsOwn) {
  Two list{1, 2};
  list.push_back(list.front());
  list.push_back(list.front());
  list.push_back(list[1]);  // a list that has no room for it
  EXPECT_EQ(all(list), (std::vector<int>{1, 2, 1, 1, 2}));
}

// Copies and moves lists of both kinds, in place and on the heap, onto lists of both kinds.
TEST(Few, IsCopiedAndMoved) {
  const Two small{1}, large{1, 2, 3, 4, 5};
  for (const Two* from : {&small, &large}) {
    for (const Two* onto : {&small, &large}) {
      Two copied = *onto;
      copied = *from;
      EXPECT_EQ(copied, *from);
      Two moved = *onto;
      moved = std::move(copied);
      EXPECT_EQ(moved, *from);
      copied = *onto;  // which was moved from
      EXPECT_EQ(copied, *onto);
      EXPECT_EQ(Two(std::move(moved)), *from);
    }
  }
  Two same = large;
  const Two& itself = same;
  same = itself;
  EXPECT_EQ(same, large);
  Two& again = same;
  same = std::move(again);
  EXPECT_EQ(same, large);
}

TEST(Few, TellsListsApart) {
  EXPECT_EQ((Two{1, 2}), (Two{1, 2}));
  EXPECT_FALSE((Two{1, 2}) == (Two{1, 3}));
  EXPECT_FALSE((Two{1, 2}) == (Two{1, 2, 3}));
}

}  // namespace
}  // namespace regatta
