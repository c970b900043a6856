// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/matrix_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/matrix/tiers.h"
#include "harness/system/variables_for_test.h"
#include "kernels/base/error_for_test.h"
#include "strategies/strategy.h"

namespace regatta::matrix {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_of(const MatrixPlan& plan) {
  std::vector<std::string> names;
  for (const MatrixCell& cell : plan.cells) names.push_back(cell.name);
  return names;
}

std::string error_of(const std::string& text) {
  return regatta::testing_support::error_of([&] { parse_matrix(text, "m.toml"); });
}

TEST(MatrixPlan, CrossesTheAxesOfEachBlockAndLeavesOutWhatIsExcluded) {
  const MatrixPlan plan = parse_matrix(R"(
    seeds = [7, 9]
    [[race]]
    workload = ["parabola", "resnet9_thin"]
    strategy = ["in_graph", "all_reduce"]
    workers = 2
    [[race]]
    workload = "parabola"
    rate_scale = 0.5
    [[exclude]]
    workload = "parabola"
    strategy = "in_graph"
  )",
                                       "m.toml");
  EXPECT_THAT(plan.seeds, ElementsAre(7, 9));
  EXPECT_THAT(names_of(plan),
              ElementsAre("parabola all_reduce (2 workers)", "resnet9_thin in_graph (2 workers)",
                          "resnet9_thin all_reduce (2 workers)",
                          "parabola single (1 worker, rate-scale=0.5)"));
  EXPECT_THAT(plan.cells[0].arguments,
              ElementsAre("--workload", "parabola", "--strategy", "all_reduce", "--workers", "2"));
}

TEST(MatrixPlan, RacesACellOnceThatTwoBlocksName) {
  const MatrixPlan plan = parse_matrix(
      "[[race]]\nworkload = ['parabola', 'parabola']\n[[race]]\nworkload = 'parabola'\n", "m.toml");
  EXPECT_EQ(plan.cells.size(), 1U);
  EXPECT_THAT(plan.seeds, ElementsAre(1, 2, 3, 4, 5));
}

TEST(MatrixPlan, SaysWhatIsWrongAndOffersTheNearestKey) {
  EXPECT_THAT(error_of("[[race]]\nworklaod = 'parabola'\n"), HasSubstr("did you mean 'workload'"));
  EXPECT_THAT(error_of("[[race]]\nworkload = 'parabola'\nseed = 3\n"), HasSubstr("'seed'"));
  EXPECT_THAT(error_of("[[race]]\nrate_scale = 1\n'rate-scale' = 2\n"),
              HasSubstr("did you mean 'rate_scale'"));
  EXPECT_THAT(error_of("[[rage]]\nworkload = 'parabola'\n"), HasSubstr("did you mean 'race'"));
  EXPECT_THAT(error_of("[race]\nworkload = 'parabola'\n"), HasSubstr("[[race]]"));
  EXPECT_THAT(error_of("[[race]]\nworkload = \n"), HasSubstr("m.toml, line 2"));
  EXPECT_THAT(error_of("seeds = 0\n[[race]]\nworkload = 'parabola'\n"), HasSubstr("seeds"));
  EXPECT_THAT(error_of("seeds = 3\n"), HasSubstr("no cell"));
  EXPECT_THAT(error_of("[[race]]\nworkload = []\n"), HasSubstr("no value"));
}

TEST(MatrixPlan, RejectsWhatCannotRunWithTheReason) {
  MatrixPlan plan = parse_matrix(
      "[[race]]\nworkload = ['parabola', 'parabolla']\nstrategy = ['single', 'in_graph']\n"
      "workers = 2\n",
      "m.toml");
  const std::vector<RejectedCell> rejected = reject_invalid(plan);
  EXPECT_THAT(names_of(plan), ElementsAre("parabola in_graph (2 workers)"));
  ASSERT_EQ(rejected.size(), 3U);
  EXPECT_EQ(rejected[0].cell.name, "parabola single (2 workers)");
  EXPECT_THAT(rejected[0].reason, HasSubstr("single"));
  EXPECT_THAT(rejected[1].reason, HasSubstr("did you mean 'parabola'"));
}

TEST(MatrixPlan, HasKeysForOptionsOfWorkloads) {
  MatrixPlan plan = parse_matrix(
      "[[race]]\nworkload = ['parabola', 'resnet9_thin']\nwidth = [16, 32]\n", "m.toml");
  EXPECT_EQ(reject_invalid(plan).size(), 2U);  // those of parabola
  ASSERT_EQ(plan.cells.size(), 2U);
  EXPECT_THAT(plan.cells[0].key, testing::Not(HasSubstr("width")));  // 16 is the default
  EXPECT_THAT(plan.cells[1].key, HasSubstr("width=32"));
}

TEST(MatrixPlan, KeepsTheCellsThatFitIntoTheSlurmJobThatItIsIn) {
  const testing_support::Variables of_job{{"SLURM_JOB_ID", "7"},
                                          {"SLURM_TASKS_PER_NODE", "1(x2)"},
                                          {"SLURM_JOB_CPUS_PER_NODE", "2(x2)"}};
  MatrixPlan plan = parse_matrix(
      "[[race]]\nworkload = 'parabola'\nstrategy = 'all_reduce'\nworkers = 4\n"
      "processes = [1, 2, 4]\n",
      "m.toml");
  const std::vector<RejectedCell> rejected = reject_invalid(plan);
  EXPECT_THAT(names_of(plan), ElementsAre("parabola all_reduce (4 workers, processes=1)",
                                          "parabola all_reduce (4 workers, processes=2)"));
  ASSERT_EQ(rejected.size(), 1U);
  EXPECT_THAT(rejected[0].reason,
              HasSubstr("it has 4 processes, but Slurm's job 7 has room for 2"));
}

TEST(MatrixPlan, HasTiersWhoseQuickOneIsValid) {
  MatrixPlan quick = tier_plan("quick");
  const auto race_alone = [](const strategies::Strategy* each) {
    return each->workers != strategies::WorkersAre::ThoseOfPrevious;
  };
  const auto strategies = strategies::all_strategies();
  constexpr int kCompressed = 2;
  const auto count = std::count_if(strategies.begin(), strategies.end(), race_alone);
  const auto of_sequences =
      std::count_if(strategies.begin(), strategies.end(), [](const strategies::Strategy* each) {
        return each->trains == strategies::Trains::Sequences;
      });
  EXPECT_EQ(std::ssize(quick.cells), 2 * count - of_sequences + kCompressed);
  EXPECT_EQ(quick.cells[0].name, "parabola single (1 worker)");
  EXPECT_EQ(quick.cells[1].name, "gpt_tiny single (1 worker)");
  EXPECT_TRUE(reject_invalid(quick).empty());
  EXPECT_GT(tier_plan("full").cells.size(), quick.cells.size());
  EXPECT_FALSE(tier_plan("standard").cells.empty());
  EXPECT_THROW(tier_plan("quik"), RunError);
}

/// The names of a tier's cells that cannot run, with their reasons.
std::vector<std::string> rejected_of(const std::string& tier) {
  MatrixPlan plan = tier_plan(tier);
  std::vector<std::string> lines;
  for (const RejectedCell& each : reject_invalid(plan)) {
    lines.push_back(each.cell.name + ": " + each.reason);
  }
  return lines;
}

TEST(MatrixPlan, HasTiersForLongRunsOfWhichEveryCellIsValidButOneOfTooFewGroups) {
  EXPECT_EQ(rejected_of("full"), std::vector<std::string>{});
  const std::vector<std::string> rejected = rejected_of("standard");
  ASSERT_EQ(rejected.size(), 1U);
  EXPECT_THAT(rejected[0], HasSubstr("mobilenet_v2 pipeline (2 workers): "));
  EXPECT_THAT(rejected[0], HasSubstr("in normalisation groups of 32; 1 to 2 are possible"));
}

TEST(MatrixPlan, HasATierForClaimsOfWhichEveryCellIsValid) {
  MatrixPlan claims = tier_plan("claims");
  EXPECT_EQ(claims.cells.size(), 95U);
  const std::vector<RejectedCell> rejected = reject_invalid(claims);
  for (const RejectedCell& each : rejected) ADD_FAILURE() << each.cell.name << ": " << each.reason;
}

}  // namespace
}  // namespace regatta::matrix
