// SPDX-License-Identifier: Apache-2.0
//
// Compares the division of costs among stages with every possible division.
#include "strategies/stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace regatta::strategies {
namespace {

using Costs = std::vector<std::int64_t>;

std::int64_t dearest_stage(const Costs& costs, const std::vector<int>& chunk_of,
                           std::int64_t stages) {
  Costs sums(static_cast<std::size_t>(stages));
  for (std::size_t i = 0; i < costs.size(); ++i) {
    sums[static_cast<std::size_t>(chunk_of[i] % stages)] += costs[i];
  }
  return *std::max_element(sums.begin(), sums.end());
}

/// The least possible cost of the most expensive stage, with `chunks` chunks in all.
std::int64_t least_dearest(const Costs& costs, std::int64_t stages, int chunks) {
  std::int64_t least = INT64_MAX;
  for (unsigned borders = 0; borders < 1U << (costs.size() - 1); ++borders) {
    std::vector<int> chunk_of = {0};
    for (std::size_t i = 1; i < costs.size(); ++i) {
      chunk_of.push_back(chunk_of.back() + static_cast<int>(borders >> (i - 1) & 1U));
    }
    if (chunk_of.back() != chunks - 1) continue;
    least = std::min(least, dearest_stage(costs, chunk_of, stages));
  }
  return least;
}

void expect_contiguous(const std::vector<int>& chunk_of, int chunks) {
  EXPECT_EQ(chunk_of.front(), 0);
  EXPECT_EQ(chunk_of.back(), chunks - 1);
  for (std::size_t i = 1; i < chunk_of.size(); ++i) {
    EXPECT_GE(chunk_of[i], chunk_of[i - 1]);
    EXPECT_LE(chunk_of[i], chunk_of[i - 1] + 1);
  }
}

TEST(Dealing, InOrderMakesTheDearestStageAsCheapAsItCanBe) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    Costs costs(8);
    for (std::int64_t& cost : costs) cost = random() % 50;
    const int stages = 1 + static_cast<int>(random() % 5);
    const std::vector<int> dealt = deal_in_order(costs, stages);
    expect_contiguous(dealt, stages);
    // A part with cost 0 counts as one.
    EXPECT_LE(dearest_stage(costs, dealt, stages), least_dearest(costs, stages, stages) + 8);
  }
}

TEST(Dealing, InTurnIsAsEvenAsStagesOfOneChunkAndMoreEvenWhereSingleMovesHelp) {
  std::mt19937 random(2);
  std::int64_t found = 0, possible = 0;
  for (int trial = 0; trial < 200; ++trial) {
    Costs costs(10);
    for (std::int64_t& cost : costs) cost = 1 + random() % 50;
    const std::vector<int> dealt = deal_in_turn(costs, 2, 2);
    expect_contiguous(dealt, 4);
    EXPECT_LE(dearest_stage(costs, dealt, 2), dearest_stage(costs, deal_in_order(costs, 4), 2));
    EXPECT_EQ(deal_in_turn(costs, 3, 1), deal_in_order(costs, 3));
    found += dearest_stage(costs, dealt, 2);
    possible += least_dearest(costs, 2, 4);
  }
  EXPECT_LT(static_cast<double>(found), 1.05 * static_cast<double>(possible));
}

}  // namespace
}  // namespace regatta::strategies
