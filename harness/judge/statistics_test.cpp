// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistics.h"

#include <gtest/gtest.h>

#include <numeric>

namespace regatta::judge {
namespace {

std::vector<double> numbers(int from, int to) {
  std::vector<double> values(static_cast<std::size_t>(to - from + 1));
  std::iota(values.begin(), values.end(), from);
  return values;
}

TEST(MedianInterval, IsTheTablesForSmallSamples) {
  // k for x(k) to x(n + 1 - k), and coverage, from tables of the sign test.
  struct Row {
    int n;
    double low, high, coverage;
  };
  for (const Row& row :
       {Row{1, 1, 1, 0}, Row{5, 1, 5, 0.9375}, Row{6, 1, 6, 0.96875}, Row{8, 1, 8, 0.9921875},
        Row{9, 2, 8, 0.9609375}, Row{10, 2, 9, 0.978515625}, Row{20, 6, 15, 0.958610534667969}}) {
    const MedianInterval interval = median_interval(numbers(1, row.n));
    EXPECT_EQ(interval.median, (row.n + 1) / 2.0);
    EXPECT_EQ(interval.low, row.low) << row.n;
    EXPECT_EQ(interval.high, row.high) << row.n;
    EXPECT_NEAR(interval.coverage, row.coverage, 1e-12) << row.n;
  }
}

TEST(MedianInterval, CountsARunThatMissedAsInfinitelySlow) {
  const std::vector<double> times = {4, kInfinity, 3, 5, kInfinity};
  EXPECT_EQ(median_interval(times).median, 5);
  EXPECT_EQ(median_interval(times).high, kInfinity);
  EXPECT_EQ(median_interval(std::vector<double>{1, kInfinity, kInfinity}).median, kInfinity);
}

TEST(MannWhitney, IsExactWhereAllDealsCanBeCounted) {
  EXPECT_NEAR(mann_whitney_p(numbers(1, 3), numbers(4, 6)), 2.0 / 20, 1e-12);
  EXPECT_NEAR(mann_whitney_p(numbers(1, 5), numbers(6, 10)), 2.0 / 252, 1e-12);
  EXPECT_NEAR(mann_whitney_p(numbers(6, 10), numbers(1, 5)), 2.0 / 252, 1e-12);
  // 4 of the 10 ways to choose 2 of 5 values are as far from the middle as {1, 3}, with a U of 1.
  EXPECT_NEAR(mann_whitney_p(std::vector<double>{1, 3}, std::vector<double>{2, 4, 5}), 0.4, 1e-12);
}

TEST(SignedRank, LeavesOutPairsThatAgreeAndRanksMissesLast) {
  EXPECT_EQ(signed_rank_p(std::vector<double>{0, 0, 0}), 1);
  EXPECT_EQ(signed_rank_p({}), 1);
  EXPECT_NEAR(signed_rank_p(std::vector<double>{0, 3, 0, 5}), 2.0 / 4, 1e-12);
  // 6 of the 16 sign choices of ranks 1, 2, 3.5, 3.5 sum to 3.5 at most: 0, 1, 2, 3, 3.5 twice.
  EXPECT_NEAR(signed_rank_p(std::vector<double>{1, -2, kInfinity, kInfinity}), 0.375, 1e-12);
  EXPECT_NEAR(signed_rank_p(std::vector<double>{1, 2, kInfinity, -kInfinity}), 2 * 6.0 / 16, 1e-12);
}

TEST(ShareOfLook, AddsUpToTheWhole) {
  double sum = 0;
  for (std::size_t look = 1; look <= 1000; ++look) sum += share_of_look(look, 8);
  EXPECT_NEAR(sum, 1, 2e-4);
  EXPECT_LT(sum, 1);
  EXPECT_DOUBLE_EQ(share_of_look(1, 8), share_of_look(8, 8));
  EXPECT_DOUBLE_EQ(share_of_look(9, 8), 0.05);
}

}  // namespace
}  // namespace regatta::judge
