// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/decision.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "harness/judge/first_place_test.h"
#include "harness/judge/paired_ratio.h"
#include "harness/matrix/decided_race_for_test.h"
#include "harness/matrix/resume_command.h"
#include "kernels/base/error.h"

namespace regatta::matrix {
namespace {

using judge::Standing;
using testing::HasSubstr;

/// Makes runs whose times are the cell's factor in `each`, with `noise`. Equal calls return equal
/// runs.
MakeRun runs_of(const std::vector<double>& each, double noise) {
  return [=](std::size_t cell, std::uint64_t seed) {
    std::mt19937_64 chance(1000 * cell + seed);
    const double factor = std::exp(noise * std::normal_distribution<double>()(chance));
    return judge::made_up_run({.strategy = fmt::format("s{}", cell)}, seed, 1e5,
                              1e-4 * each[cell] * factor, 0.1);
  };
}

DecidedRace race_of(const std::vector<double>& each, double noise, std::size_t seeds = 20) {
  return race_until_decided(each.size(), seeds, runs_of(each, noise));
}

std::size_t runs_of_cell(const DecidedRace& decided, const std::string& strategy) {
  return static_cast<std::size_t>(std::ranges::count_if(
      decided.records, [&](const auto& run) { return run.cell.strategy == strategy; }));
}

const judge::CellJudgement& cell_of(const DecidedRace& decided, const std::string& strategy) {
  return *std::ranges::find_if(decided.race.cells, [&](const judge::CellJudgement& cell) {
    return cell.runs.front()->cell.strategy == strategy;
  });
}

TEST(Decision, LeavesOutCellsThatAreSlowerBeyondDoubt) {
  const DecidedRace decided = race_of({1, 1.01, 1.02, 1.5, 100}, 0.02);
  ASSERT_TRUE(decided.race.rounds);
  EXPECT_TRUE(decided.race.rounds->is_decided);
  EXPECT_EQ(cell_of(decided, "s4").against_first.standing, Standing::Slower);
  EXPECT_LE(runs_of_cell(decided, "s4"), 2U);
  EXPECT_LT(runs_of_cell(decided, "s3"), runs_of_cell(decided, "s0"));
  ASSERT_TRUE(cell_of(decided, "s4").left_out);
  EXPECT_LE(cell_of(decided, "s4").left_out->round, 2);
  EXPECT_GT(cell_of(decided, "s4").against_first.interval->low, 2);
  EXPECT_THAT(line_of(decided.race), HasSubstr("first, decided in"));
}

TEST(Decision, EndsAtThePrecisionWhereCellsAreEquallyFast) {
  const DecidedRace decided = race_of({1, 1, 1}, 0.01);
  EXPECT_TRUE(decided.race.rounds->is_decided);
  EXPECT_LT(decided.race.rounds->rounds, 12);
  EXPECT_EQ(cell_of(decided, "s1").against_first.standing == Standing::Slower, false);
}

TEST(Decision, IsOpenAtTheLastSeedIfTheRunsDoNotDecide) {
  const DecidedRace decided = race_of({1, 1, 1}, 0.3, 4);
  EXPECT_FALSE(decided.race.rounds->is_decided);
  EXPECT_EQ(decided.records.size(), 12U);
  EXPECT_THAT(line_of(decided.race),
              HasSubstr("leads, not decided after 4 rounds; 0 certainly slower"));
}

TEST(Decision, LeavesOutACellThatMissesItsTarget) {
  const MakeRun usual = runs_of({1, 1.05, 1}, 0.01);
  const MakeRun misses = [&](std::size_t cell, std::uint64_t seed) {
    record::Record run = usual(cell, seed);
    if (cell != 2) return run;
    run.status = record::Status::Missed;
    run.training_time_to_target_ns = run.full_time_to_target_ns = {};
    run.examples_to_target = {};
    return run;
  };
  const DecidedRace decided = race_until_decided(3, 20, misses);
  EXPECT_TRUE(decided.race.rounds->is_decided);
  EXPECT_LE(runs_of_cell(decided, "s2"), 9U);  // the end of the round in which it is certain
  const Standing standing = cell_of(decided, "s2").against_first.standing;
  EXPECT_TRUE(standing == Standing::Missed || standing == Standing::Slower);
}

/// Rounding changes the number of examples that each of the three needs, and one run misses.
TEST(Decision, ComparesStrategiesThatLearnAlikeByTheirSpeed) {
  constexpr std::array kStrategies = {"single", "in_graph", "all_reduce"};
  const MakeRun make = [&](std::size_t cell, std::uint64_t seed) {
    std::mt19937_64 chance(1000 * cell + seed);
    std::normal_distribution<double> normal;
    record::Record run =
        judge::made_up_run({.strategy = kStrategies.at(cell)}, seed,
                           1e5 * std::exp(0.3 * normal(chance)), cell == 2 ? 0.9e-4 : 1e-4, 0.1);
    run.examples_per_s *= std::exp(0.01 * normal(chance));
    if (cell == 2 && seed == 1) {
      run.status = record::Status::Missed;
      run.training_time_to_target_ns = run.full_time_to_target_ns = {};
      run.examples_to_target = {};
    }
    return run;
  };
  const DecidedRace decided = race_until_decided(3, 6, make);
  EXPECT_TRUE(decided.race.rounds->is_decided);
  EXPECT_EQ(decided.race.cells.front().runs.front()->cell.strategy, "all_reduce");
  for (const char* slower : {"single", "in_graph"}) {
    const judge::AgainstFirst& against = cell_of(decided, slower).against_first;
    EXPECT_EQ(against.standing, Standing::Slower);
    EXPECT_DOUBLE_EQ(against.ratio->examples, 1);
    EXPECT_NEAR(against.ratio->time.value, 1 / 0.9, 0.03);
  }
}

TEST(Decision, SaysThatRunsDifferInTheirStoppingRule) {
  std::vector<record::Record> records = race_of({1, 2}, 0.01).records;
  EXPECT_TRUE(judge::judge_races(records).warnings.empty());
  records.front().round.reset();
  EXPECT_THAT(judge::judge_races(records).warnings,
              testing::ElementsAre(HasSubstr("others of a fixed number of seeds")));
}

TEST(Decision, IsContinuedByACommandIfMoreSeedsMayMakeIt) {
  MatrixPlan plan{.seeds = {1, 2}};
  const MatrixRequest request{.file = "x.toml", .seeds = 2};
  EXPECT_EQ(decide_command(request, plan), "regatta matrix x.toml --out out --decide --resume");
  plan.cells = {{.workload = "a"}, {.workload = "a"}};
  EXPECT_NE(decide_command(request, plan), "");
  plan.cells.push_back({.workload = "alone"});
  EXPECT_EQ(decide_command(request, plan), "");
  plan.cells.pop_back();
  add_seeds(plan);
  EXPECT_EQ(decide_command(request, plan), "");
}

TEST(Decision, HasRoundsThatGrowByHalf) {
  std::vector<std::size_t> ends;
  for (std::size_t seeds = 1; seeds < 40; ++seeds) {
    if (judge::round_of(seeds) != judge::round_of(seeds + 1)) ends.push_back(seeds);
  }
  EXPECT_THAT(ends, testing::ElementsAre(1, 2, 3, 4, 6, 9, 13, 19, 28));
  EXPECT_GT(judge::round_of(judge::kMostSeedsToDecide + 1), ends.size());
}

TEST(Decision, NamesAFewOfManyCells) {
  const std::vector<std::string> names(32, "parabola all_reduce (2 workers)");
  EXPECT_EQ(few_of(names, 100), names[0] + ", " + names[0] + " and 30 more");
  EXPECT_EQ(few_of(std::span(names).first(3), 100), names[0] + ", " + names[0] + ", " + names[0]);
  EXPECT_EQ(few_of(std::span(names).first(2), 5), names[0] + " and 1 more");
}

TEST(Decision, RefusesAPrecisionThatIsNone) {
  EXPECT_DOUBLE_EQ(parse_precision("5%"), 0.05);
  EXPECT_DOUBLE_EQ(parse_precision("0.02"), 0.02);
  for (const char* text : {"0", "0%", "100%", "1", "-5%", "%", "few"}) {
    EXPECT_THROW(parse_precision(text), RunError) << text;
  }
}

TEST(Decision, NeedsTwoCellsOfEachWorkload) {
  const MatrixCell one{.workload = "parabola"}, other{.workload = "resnet9_thin"};
  EXPECT_NO_THROW(require_contests({.seeds = {1}, .cells = {one, one}}));
  EXPECT_THROW(require_contests({.seeds = {1}, .cells = {one, one, other}}), RunError);
}

/// An interval excludes 1 if and only if the verdict says slower.
TEST(Decision, ShowsIntervalsThatSayWhatTheVerdictSays) {
  for (int matrix = 0; matrix < 20; ++matrix) {
    const double step = 0.01 * matrix;
    const DecidedRace decided = race_of({1, 1 + step, 1 + 2 * step, 2}, 0.05, 6);
    for (const judge::CellJudgement& cell : decided.race.cells) {
      const auto& interval = cell.against_first.interval;
      if (!interval) continue;
      EXPECT_EQ(cell.against_first.standing == Standing::Slower, interval->low > 1);
    }
  }
}

}  // namespace
}  // namespace regatta::matrix
