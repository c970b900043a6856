// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/library/shelf.h"

#include <gtest/gtest.h>

#include <string>

namespace regatta::cuda {
namespace {

using Words = Shelf<std::string>;

std::string taken(Words& shelf, int gpu, const std::string& wanted) {
  const auto one = shelf.take(gpu, [&](const std::string& word) { return word == wanted; });
  return one == nullptr ? "nothing" : *one;
}

TEST(Shelf, GivesWhatSuitsOrElseWhatWasLeftFirst) {
  Words shelf;
  EXPECT_EQ(taken(shelf, 0, "a"), "nothing");
  for (const char* word : {"a", "b", "c"}) shelf.leave(0, std::make_unique<std::string>(word));
  EXPECT_EQ(taken(shelf, 0, "c"), "c");
  EXPECT_EQ(taken(shelf, 0, "c"), "a") << "what was taken is gone";
  EXPECT_EQ(taken(shelf, 0, "c"), "b");
  EXPECT_EQ(taken(shelf, 0, "c"), "nothing");
}

TEST(Shelf, KeepsGpusApart) {
  Words shelf;
  shelf.leave(1, std::make_unique<std::string>("a"));
  EXPECT_EQ(taken(shelf, 0, "a"), "nothing");
  EXPECT_EQ(taken(shelf, 1, "a"), "a");
}

}  // namespace
}  // namespace regatta::cuda
