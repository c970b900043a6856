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
        Row{9, 2, 8, 0.9609375}, Row{10, 2, 9, 0.978515625}, Row{20, 6, 15, 0.958610534667969},
        Row{30, 10, 21, 0.957226054742932}}) {
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

/// Values by SciPy 1.10.
TEST(MannWhitney, IsThatOfScipyWithTiesAndByTheNormalApproximation) {
  struct Row {
    std::vector<double> a, b;
    double p;
  };
  for (const Row& row : {Row{{1.263, -0.851, 0.224, -2.156},
                             {0.912, 2.418, 2.677, -0.141, 0.454, 0.73, -1.71},
                             0.315151515152},
                         Row{{3, 3, 2, 3, 4}, {3, 4, 6, 5, 3, 3}, 0.244588744589},
                         Row{{4, 1, 2, 4}, {4, 3, 2, 6, 2}, 0.809523809524},
                         Row{numbers(1, 80), numbers(20, 94), 4.53321447237e-05}}) {
    EXPECT_NEAR(mann_whitney_p(row.a, row.b), row.p, 1e-11 + 1e-10 * row.p) << row.p;
  }
}

TEST(SignedRank, LeavesOutPairsThatAgreeAndRanksMissesLast) {
  EXPECT_EQ(signed_rank_p(std::vector<double>{0, 0, 0}), 1);
  EXPECT_EQ(signed_rank_p({}), 1);
  EXPECT_NEAR(signed_rank_p(std::vector<double>{0, 3, 0, 5}), 2.0 / 4, 1e-12);
  // 6 of the 16 sign choices of ranks 1, 2, 3.5, 3.5 sum to 3.5 at most: 0, 1, 2, 3, 3.5 twice.
  EXPECT_NEAR(signed_rank_p(std::vector<double>{1, -2, kInfinity, kInfinity}), 0.375, 1e-12);
  EXPECT_NEAR(signed_rank_p(std::vector<double>{1, 2, kInfinity, -kInfinity}), 2 * 6.0 / 16, 1e-12);
}

TEST(SignedRank, IsThatOfScipyAlsoByTheNormalApproximation) {
  EXPECT_NEAR(signed_rank_p(std::vector<double>{-0.663, 0.269, 2.311, 0.312, 1.959, 1.772, 1.852}),
              0.078125, 1e-12);
  std::vector<double> many = numbers(-60, 89);
  for (double& each : many) each += 0.25;
  EXPECT_NEAR(signed_rank_p(many), 0.000172491189035, 1e-14);
}

TEST(StudentT, IsThatOfScipyAndSoIsItsQuantile) {
  struct Row {
    double t;
    std::size_t freedom;
    double p;
  };
  for (const Row& row : {Row{0.3, 1, 0.814452841844515}, Row{2.5, 4, 0.0667665448119881},
                         Row{7, 9, 6.32473896373669e-05}, Row{1.1, 38, 0.278252040819667},
                         Row{3.2, 100, 0.00184194251588305}, Row{11, 999, 1.20313075722341e-26}}) {
    EXPECT_NEAR(student_t_p(row.t, row.freedom), row.p, 1e-13) << row.freedom;
    if (row.p < 1e-6) continue;
    EXPECT_NEAR(student_t_quantile(row.p, row.freedom), row.t, 1e-6) << row.freedom;
  }
}

TEST(StudentizedRange, IsThatOfScipyAndSoIsItsQuantile) {
  struct Row {
    double q;
    std::size_t means, freedom;
    double p;
  };
  for (const Row& row :
       {Row{3.5, 2, 1, 0.244463485}, Row{4.2, 3, 5, 0.068114044}, Row{2.2, 8, 2, 0.760913711},
        Row{5.1, 8, 8, 0.07820487}, Row{7.5, 15, 8, 0.0221685013}, Row{3.3, 15, 60, 0.571044661},
        Row{5.6, 30, 60, 0.0467969813}, Row{8.8, 30, 5, 0.0517507459}}) {
    EXPECT_NEAR(studentized_range_p(row.q, row.means, row.freedom), row.p, 5e-6) << row.q;
    EXPECT_NEAR(studentized_range_quantile(row.p, row.means, row.freedom), row.q, 1e-3) << row.q;
  }
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
