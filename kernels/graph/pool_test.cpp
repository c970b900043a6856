// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/pool.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace regatta {
namespace {

std::size_t length(const std::string& text) { return text.size(); }
using Texts = Pool<std::string, length>;

TEST(Pool, HoldsEqualValuesOnce) {
  Texts texts;
  const auto first = texts.hold("first");
  const auto other = texts.hold("other");  // has the same hash
  EXPECT_EQ(texts.hold("first"), first);
  EXPECT_NE(other, first);
  EXPECT_EQ(*first, "first");
}

TEST(Pool, ForgetsWhatIsNoLongerHeld) {
  Texts texts;
  std::weak_ptr<const std::string> gone = texts.hold("short-lived");
  EXPECT_TRUE(gone.expired());
  const auto kept = texts.hold("kept");
  for (int i = 0; i < 2000; ++i) texts.hold(std::to_string(i));
  EXPECT_EQ(texts.hold("kept"), kept);
  EXPECT_LE(texts.size(), 600U);
}

TEST(Pool, IsFilledByThreadsAtOnce) {
  Texts texts;
  std::vector<std::vector<std::shared_ptr<const std::string>>> held(4);
  {
    std::vector<std::jthread> threads;
    for (auto& all : held) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) all.push_back(texts.hold(std::to_string(i)));
      });
    }
  }
  for (const auto& all : held) EXPECT_EQ(all, held.front());
}

}  // namespace
}  // namespace regatta
