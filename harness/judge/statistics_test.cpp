// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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

/// Computes p by enumerating the mean rank of every deal of the pooled values.
double enumerated_p(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> pooled = a;
  pooled.insert(pooled.end(), b.begin(), b.end());
  const auto rank = [&](double value) {
    double below = 0;
    for (double other : pooled) below += other < value ? 1 : other == value ? 0.5 : 0;
    return below;
  };
  const double middle = static_cast<double>(a.size()) * static_cast<double>(pooled.size()) / 2;
  double observed = 0;
  for (double value : a) observed += rank(value);
  double all = 0;
  double extreme = 0;
  for (unsigned deal = 0; deal < 1u << pooled.size(); ++deal) {
    if (static_cast<std::size_t>(__builtin_popcount(deal)) != a.size()) continue;
    double sum = 0;
    for (std::size_t i = 0; i < pooled.size(); ++i) {
      if ((deal >> i & 1u) != 0) sum += rank(pooled[i]);
    }
    ++all;
    if (std::abs(sum - middle) >= std::abs(observed - middle) - 1e-9) ++extreme;
  }
  return extreme / all;
}

TEST(MannWhitney, AgreesWithEnumerationAlsoWithTiesAndMisses) {
  const std::vector<std::vector<double>> samples = {{1, 2, 2, 3, 7},
                                                    {2, 2, 2, 9},
                                                    {5, kInfinity, kInfinity, 1},
                                                    {1, 1, 1, 1},
                                                    {3, 4, 8, 8, 8, 9}};
  for (const auto& a : samples) {
    for (const auto& b : samples) {
      EXPECT_NEAR(mann_whitney_p(a, b), enumerated_p(a, b), 1e-12);
    }
  }
}

TEST(MannWhitney, HasTheCriticalValuesOfTheTables) {
  // n = m = 8: U = 13 is significant at 5 % on two sides, 14 is not. b is shifted until U fits.
  const auto p_of = [](int u) {
    std::vector<double> a = numbers(1, 8);
    std::vector<double> b = numbers(9, 16);
    for (int i = 0; i < u; ++i) {  // moves a's largest value past one more of b's, then the next
      a[static_cast<std::size_t>(7 - i / 8)] = 9.5 + i % 8 - 0.01 * (i / 8);
    }
    return mann_whitney_p(a, b);
  };
  EXPECT_LT(p_of(13), 0.05);
  EXPECT_GT(p_of(14), 0.05);
}

TEST(MannWhitney, NearlyAgreesWithItselfWhereItBeginsToApproximate) {
  std::vector<double> a = numbers(1, 30);
  std::vector<double> b;
  for (int i = 0; i < 30; ++i) b.push_back(i + 6.5);
  const double exact = mann_whitney_p(a, b);
  b.push_back(21.5);
  EXPECT_NEAR(mann_whitney_p(a, b), exact, 0.1 * exact + 0.01);
}

TEST(SignedRank, HasTheCriticalValuesOfTheTables) {
  // n = 10: a smaller rank sum of 8 is significant at 5 % on two sides, 9 is not.
  EXPECT_NEAR(signed_rank_p(std::vector<double>{1, 2, 3, 4, 5, 6, 7, -8, 9, 10}), 50.0 / 1024,
              1e-12);
  EXPECT_GT(signed_rank_p(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, -9, 10}), 0.05);
  EXPECT_NEAR(signed_rank_p(numbers(1, 8)), 2.0 / 256, 1e-12);
  EXPECT_NEAR(signed_rank_p(numbers(-12, -1)), 2.0 / 4096, 1e-12);
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

TEST(MedianInterval, OfManyValuesIsAsWideAsTheNormalApproximationSays) {
  std::vector<double> values(2000);
  std::iota(values.begin(), values.end(), 1);
  const MedianInterval interval = median_interval(values);
  EXPECT_EQ(interval.median, 1000.5);
  EXPECT_NEAR(interval.high - interval.low, 2 * 1.96 * std::sqrt(2000.0) / 2, 2);
  EXPECT_NEAR(interval.coverage, 0.95, 0.005);
}

TEST(SignedRank, OfManyDifferencesIsTheNormalApproximation) {
  std::vector<double> differences;
  for (int i = 1; i <= 200; ++i) differences.push_back(i % 3 == 0 ? -i : i);
  // Ranks sum to 13,467 of 20,100; the deviation is sqrt(200 * 201 * 401 / 24): z = 3416.5 /
  // 819.57.
  EXPECT_NEAR(signed_rank_p(differences), 3.0633e-5, 1e-8);
}

}  // namespace
}  // namespace regatta::judge
