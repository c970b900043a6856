// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/paired_ratio.h"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/judge/first_place_test.h"

namespace regatta::judge {
namespace {

std::vector<const record::Record*> runs_of(const std::vector<record::Record>& records,
                                           const std::string& name) {
  std::vector<const record::Record*> runs;
  for (const record::Record& record : records) {
    if (record.cell.strategy == name) runs.push_back(&record);
  }
  return runs;
}

std::optional<PairedRatio> ratio_of(const std::vector<record::Record>& records) {
  return paired_ratio(runs_of(records, "a"), runs_of(records, "b"));
}

TEST(PairedRatio, IsTheProductOfItsFactorsAndTheGeometricMeanOfItsPairs) {
  std::mt19937_64 chance(20);
  for (int race = 0; race < 50; ++race) {
    const auto records = made_up_races({{.strategy = "a", .examples_noise = 0.2, .each_noise = 0.3},
                                        {.strategy = "b", .examples_noise = 0.2}},
                                       {.seeds = 2 + race % 7}, chance);
    const auto ratio = ratio_of(records);
    ASSERT_TRUE(ratio);
    EXPECT_NEAR(ratio->time.value, ratio->examples * ratio->each, 1e-12);
    double product = 1;
    for (std::size_t i = 0; i < records.size(); i += 2) {
      product *= static_cast<double>(*records[i].training_time_to_target_ns) /
                 static_cast<double>(*records[i + 1].training_time_to_target_ns);
    }
    EXPECT_NEAR(ratio->time.value, std::pow(product, 2.0 / static_cast<double>(records.size())),
                1e-9);
    EXPECT_EQ(ratio->time.pairs, records.size() / 2);
    EXPECT_LE(ratio->time.bracket_low, ratio->time.value);
    EXPECT_GE(ratio->time.bracket_high, ratio->time.value);
  }
}

TEST(PairedRatio, PairsRunsOfASeedAndLeavesOutOthers) {
  const auto run = [](const char* strategy, std::uint64_t seed, double seconds_each) {
    return made_up_run({.strategy = strategy}, seed, 1000, seconds_each, 0.01);
  };
  const std::vector<record::Record> records = {run("a", 3, 0.3), run("a", 1, 0.2), run("b", 1, 0.1),
                                               run("b", 2, 9),   run("b", 3, 0.1), run("a", 4, 9)};
  const auto ratio = ratio_of(records);
  ASSERT_TRUE(ratio);
  EXPECT_EQ(ratio->time.pairs, 2U);
  EXPECT_NEAR(ratio->time.value, std::sqrt(6.0), 1e-9);
  EXPECT_NEAR(ratio->time.spread, std::log(1.5) / std::sqrt(2.0), 1e-9);
}

TEST(PairedRatio, IsNothingWhereARunMissedItsTargetOrOnePairIsThere) {
  std::mt19937_64 chance(1);
  auto records = made_up_races({{.strategy = "a"}, {.strategy = "b"}}, {.seeds = 2}, chance);
  EXPECT_TRUE(ratio_of(records));
  EXPECT_FALSE(ratio_of({records[0], records[1]}));
  records[1].training_time_to_target_ns.reset();
  EXPECT_FALSE(ratio_of(records));
}

TEST(PairedRatio, KnowsACrossingAsExactlyAsTheEvaluationsDo) {
  const auto run = [](const char* strategy, std::uint64_t seed, double crossing) {
    return made_up_run({.strategy = strategy}, seed, crossing, 1, 0.01);
  };
  // Evaluations at 5,000 and 6,000 examples; one run crosses just before 5,000, the other after it.
  const auto apart =
      ratio_of({run("a", 1, 5001), run("a", 2, 5001), run("b", 1, 4999), run("b", 2, 4999)});
  EXPECT_NEAR(apart->time.value, 6.0 / 5, 1e-9);
  EXPECT_NEAR(apart->time.bracket_low, 5.0 / 5, 1e-9);
  EXPECT_NEAR(apart->time.bracket_high, 6.0 / 4, 1e-9);
  EXPECT_EQ(p_of(apart->time), 1);
  EXPECT_FALSE(pairs_for(apart->time, 0.1, {}));  // no number of seeds would suffice
  // Equal evaluations: the runs compute the same and cross at the same example.
  const auto together =
      ratio_of({run("a", 1, 5001), run("a", 2, 5001), run("b", 1, 5002), run("b", 2, 5002)});
  EXPECT_EQ(together->time.bracket_low, 1);
  EXPECT_EQ(together->time.bracket_high, 1);
}

TEST(PairedRatio, HasTheIntervalOfStudentsT) {
  MeanRatio ratio{.pairs = 5,
                  .value = 1.2,
                  .spread = 0.1,
                  .freedom = 4,
                  .bracket_low = 1.1,
                  .bracket_high = 1.3};
  const double half = 2.776445 * 0.1 / std::sqrt(5.0);  // t of 4 degrees of freedom, 95 %
  EXPECT_NEAR(interval_of(ratio, {}).low, 1.1 * std::exp(-half), 1e-6);
  EXPECT_NEAR(interval_of(ratio, {}).high, 1.3 * std::exp(half), 1e-6);
  ratio.bracket_low = std::exp(half);
  EXPECT_NEAR(p_of(ratio), 0.05, 1e-6);
  ratio.bracket_low = ratio.value;
  const auto pairs = pairs_for(ratio, half, {});
  EXPECT_EQ(pairs, std::optional<std::size_t>(6));  // five only just reach it
}

TEST(PairedRatio, BorrowsASpreadThatIsSmallerThanThoseOfTheOthers) {
  std::vector<MeanRatio> ratios(4, {.pairs = 3, .spread = 0.1, .freedom = 2});
  ratios[0].spread = 0.01;
  ratios[1].spread = 1;
  std::vector<MeanRatio*> all;
  for (MeanRatio& ratio : ratios) all.push_back(&ratio);
  borrow_spread(all);
  const double typical = 0.01 / std::pow(1 - 1.0 / 9, 3);  // variance, from a median of two degrees
  EXPECT_NEAR(ratios[0].spread, std::sqrt((4 * typical + 2 * 0.0001) / 6), 1e-12);
  EXPECT_EQ(ratios[0].freedom, 6U);
  EXPECT_EQ(ratios[1].spread, 1);  // its own is larger
  MeanRatio alone{.pairs = 3, .spread = 0.01, .freedom = 2};
  borrow_spread(std::vector{&alone});
  EXPECT_EQ(alone.spread, 0.01);
  EXPECT_EQ(alone.freedom, 2U);
}

}  // namespace
}  // namespace regatta::judge
