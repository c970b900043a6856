// SPDX-License-Identifier: Apache-2.0
//
// Random streams against published values; example order and augmentation as pure functions.
#include "kernels/base/random.h"
#include "kernels/data/augmentation_draw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "kernels/graph/builder.h"

namespace regatta {
namespace {

// Known answers of Random123's kat_vectors for philox4x32, 10 rounds.
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (Counter4{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U}));
  EXPECT_EQ(
      philox({0xffffffffU, 0xffffffffU, 0xffffffffU, 0xffffffffU}, {0xffffffffU, 0xffffffffU}),
      (Counter4{0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU}));
  EXPECT_EQ(
      philox({0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}, {0xa4093822U, 0x299f31d0U}),
      (Counter4{0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U}));
}

TEST(RandomStream, NormalHasMeanZeroAndDeviationOne) {
  const RandomStream stream(7, Purpose::Weights, 1, 2);
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 100'000;
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    const double x = stream.normal(i);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 4 / std::sqrt(kDraws));  // four standard errors
  EXPECT_NEAR(squares / kDraws, 1, 4 * std::sqrt(2.0 / kDraws));
}

TEST(RandomStream, DiffersBySeedPurposeAndName) {
  const Counter4 base = RandomStream(1, Purpose::Weights, 2, 3).words(0);
  EXPECT_NE(base, RandomStream(2, Purpose::Weights, 2, 3).words(0));
  EXPECT_NE(base, RandomStream(1, Purpose::Order, 2, 3).words(0));
  EXPECT_NE(base, RandomStream(1, Purpose::Weights, 3, 3).words(0));
}

TEST(ExampleOrder, IsAPermutationThatDiffersByEpochAndSeed) {
  const auto order = example_order(5, 0, 1000);
  auto sorted = order;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::int32_t> expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(sorted, expected);
  EXPECT_EQ(order, example_order(5, 0, 1000));
  EXPECT_NE(order, example_order(5, 1, 1000));
  EXPECT_NE(order, example_order(6, 0, 1000));
}

TEST(Augmentation, AlternatingFlipMirrorsEveryExampleBetweenEpochs) {
  const AugmentationRanges ranges{
      .side = 32, .pad = 2, .cutout = 0, .flip = static_cast<int>(Augmentation::Flip::Alternating)};
  int flipped = 0;
  for (std::int64_t example = 0; example < 1000; ++example) {
    const bool even = draw_augmentation(3, 0, example, ranges).flip;
    EXPECT_NE(even, draw_augmentation(3, 1, example, ranges).flip);
    EXPECT_EQ(even, draw_augmentation(3, 2, example, ranges).flip);
    flipped += even ? 1 : 0;
  }
  EXPECT_NEAR(flipped, 500, 64);  // four standard deviations
}

TEST(Augmentation, CoversItsWholeRangeAndNoMore) {
  const AugmentationRanges ranges{
      .side = 32, .pad = 4, .cutout = 8, .flip = static_cast<int>(Augmentation::Flip::Random)};
  std::vector<int> shifts(9);
  std::vector<int> corners(25);
  for (std::int64_t example = 0; example < 5000; ++example) {
    const AugmentationDraw draw = draw_augmentation(3, 1, example, ranges);
    ++shifts.at(static_cast<std::size_t>(draw.shift_x));
    ++corners.at(static_cast<std::size_t>(draw.cutout_y));
  }
  EXPECT_GT(*std::min_element(shifts.begin(), shifts.end()), 0);
  EXPECT_GT(*std::min_element(corners.begin(), corners.end()), 0);
}

TEST(Peers, AreDrawnEvenlyAndAnewForEachStep) {
  std::array<int, 3> drawn{};
  int repeats = 0;
  for (std::int64_t step = 0; step < 3000; ++step) {
    const std::uint32_t peer = draw_peer(2, step, 3);
    ++drawn.at(peer);
    repeats += peer == draw_peer(2, step + 1, 3) ? 1 : 0;
  }
  for (const int count : drawn) EXPECT_NEAR(count, 1000, 100);
  EXPECT_NEAR(repeats, 1000, 100);
  EXPECT_EQ(draw_peer(0, 7, 1), 0U);
}

}  // namespace
}  // namespace regatta
