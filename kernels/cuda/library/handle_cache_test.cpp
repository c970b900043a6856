// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/library/handle_cache.h"

#include <gtest/gtest.h>

#include <string>

namespace regatta::cuda {
namespace {

using Words = HandleCache<std::string>;

std::string taken(Words& cache, int gpu, const std::string& wanted) {
  const auto one = cache.acquire(gpu, [&](const std::string& word) { return word == wanted; });
  return one == nullptr ? "nothing" : *one;
}

TEST(HandleCache, GivesWhatSuitsOrElseWhatWasLeftFirst) {
  Words cache;
  EXPECT_EQ(taken(cache, 0, "a"), "nothing");
  for (const char* word : {"a", "b", "c"}) cache.release(0, std::make_unique<std::string>(word));
  EXPECT_EQ(taken(cache, 0, "c"), "c");
  EXPECT_EQ(taken(cache, 0, "c"), "a") << "what was taken is gone";
  EXPECT_EQ(taken(cache, 0, "c"), "b");
  EXPECT_EQ(taken(cache, 0, "c"), "nothing");
}

TEST(HandleCache, KeepsGpusApart) {
  Words cache;
  cache.release(1, std::make_unique<std::string>("a"));
  EXPECT_EQ(taken(cache, 0, "a"), "nothing");
  EXPECT_EQ(taken(cache, 1, "a"), "a");
}

}  // namespace
}  // namespace regatta::cuda
