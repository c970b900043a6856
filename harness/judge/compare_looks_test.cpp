// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "harness/judge/compare.h"
#include "harness/judge/compare_test.h"
#include "harness/judge/statistics.h"

namespace regatta::judge {
namespace {

TEST(Compare, SaysWorseOrBetterExactlyWhereItsIntervalExcludesOne) {
  std::mt19937_64 chance(47);
  std::normal_distribution<double> normal;
  std::map<Verdict, int> seen;
  for (int sample = 0; sample < 500; ++sample) {
    const std::size_t seeds = 2 + static_cast<std::size_t>(sample) % 11;
    const double noise = sample % 3 == 0 ? 0.01 : 0.1, factor = std::exp(0.1 * normal(chance));
    const auto side = [&](double times) {
      std::vector<double> speeds, counts;
      for (std::size_t i = 0; i < seeds; ++i) {
        speeds.push_back(times * std::exp(noise * normal(chance)));
        counts.push_back(normal(chance) > 1.5 ? 0 : std::round(speeds.back() * 1e4));  // 0: missed
      }
      return timed_runs("a", speeds, counts);
    };
    const CellComparison cell = compared(side(1), side(factor));
    for (const auto& [row, effect] :
         {std::pair(&cell.speed, CompareOptions().speed_effect),
          std::pair(&cell.convergence, CompareOptions().convergence_effect)}) {
      const auto [low, high] = row->interval.value();
      const bool matters = high > 1 + effect || low < 1 / (1 + effect);
      EXPECT_EQ(row->verdict == Verdict::Regressed, low > 1 && matters);
      EXPECT_EQ(row->verdict == Verdict::Improved, high < 1 && matters);
      EXPECT_EQ(row->verdict == Verdict::Unchanged, !matters);
      ++seen[row->verdict];
    }
  }
  EXPECT_EQ(seen.size(), 4U);
}

/// Eight seeds of a cell that is not slower until its fourth seed, and of one that always is.
Measurements late(double factor) {
  std::vector<double> slower = times(1);
  for (std::size_t i = 3; i < slower.size(); ++i) slower[i] *= factor;
  auto all = timed_runs("late", slower, kExamples);
  for (const auto& run : timed_runs("slow", times(factor), kExamples)) all.push_back(run);
  return {.runs = all};
}

TEST(CompareLooks, KeepTheVerdictOfTheFirstLookThatDecides) {
  CompareOptions options{.alpha = 0.1, .speed_effect = 0.1, .looks = {3, 8}};
  const auto looked = compare(late(1), late(1.3), options);
  EXPECT_EQ(looked[0].speed.verdict, Verdict::Unchanged);
  EXPECT_EQ(looked[0].speed.seeds, 3U);
  EXPECT_EQ(looked[1].speed.verdict, Verdict::Regressed);
  EXPECT_EQ(looked[1].speed.seeds, 3U);
  EXPECT_EQ(looked[1].head_runs, 8U);
  options.looks = {8};
  const auto once = compare(late(1), late(1.3), options);
  EXPECT_NE(once[0].speed.verdict, Verdict::Unchanged);
  // Two looks cost each its share of the error, whether the second was reached or not.
  options.looks = {8, 9};
  const auto interval = [&](double alpha) {
    return compare(late(1), late(1.3), {.alpha = alpha, .speed_effect = 0.1})[1].speed.interval;
  };
  const auto first = compare(late(1), late(1.3), options)[1].speed;
  EXPECT_DOUBLE_EQ(first.interval->low, interval(0.1 * share_of_look(1, 2))->low);
  EXPECT_LT(first.interval->low, interval(0.1)->low);
}

}  // namespace
}  // namespace regatta::judge
