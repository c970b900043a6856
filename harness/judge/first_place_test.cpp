// SPDX-License-Identifier: Apache-2.0
//
// Verdicts on made-up races in which the fastest cell, and its reason, are known.
#include "harness/judge/first_place.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/judge/first_place_test.h"

namespace regatta::judge {
namespace {

constexpr int kMatrices = 100;

/// Strategies that compute the same, and one with its own noise in learning.
const std::vector<MadeUpCell> kEqual = {{.strategy = "all_reduce"},
                                        {.strategy = "in_graph"},
                                        {.strategy = "central_storage"},
                                        {.strategy = "async_shared", .examples_noise = 0.04}};

std::string name_of(const CellJudgement& cell) { return cell.runs.front()->cell.strategy; }

const CellJudgement& cell_of(const WorkloadJudgement& workload, const std::string& strategy) {
  return *std::find_if(workload.cells.begin(), workload.cells.end(),
                       [&](const CellJudgement& cell) { return name_of(cell) == strategy; });
}

TEST(FirstPlace, TellsAPlantedTie) {
  std::mt19937_64 chance(1);
  for (int i = 0; i < kMatrices; ++i) {
    const auto records = made_up_races(kEqual, {}, chance);
    const WorkloadJudgement workload = judge(records).workloads.at(0);
    EXPECT_NE(workload.certainty, Certainty::Sure) << "matrix " << i;
  }
}

TEST(FirstPlace, TellsAPlantedWinnerInSpeed) {
  std::mt19937_64 chance(2);
  for (int i = 0; i < kMatrices; ++i) {
    auto cells = kEqual;
    cells[1].each = 0.8;
    const auto records = made_up_races(cells, {.seeds = 6}, chance);
    const WorkloadJudgement workload = judge(records).workloads.at(0);
    EXPECT_EQ(workload.certainty, Certainty::Sure) << "matrix " << i;
    EXPECT_EQ(name_of(workload.cells.front()), "in_graph");
    const AgainstFirst& other = cell_of(workload, "all_reduce").against_first;
    EXPECT_EQ(other.ratio->examples, 1);  // they compute the same
    EXPECT_NEAR(other.ratio->each, 1 / 0.8, 0.05);
  }
}

TEST(FirstPlace, TellsAPlantedWinnerInExamplesThatIsSlowerInSpeed) {
  std::mt19937_64 chance(3);
  for (int i = 0; i < kMatrices; ++i) {
    auto cells = kEqual;
    cells[3] = {.strategy = "async_shared", .examples = 0.6, .each = 1.15, .examples_noise = 0.02};
    const auto records = made_up_races(cells, {.seeds = 6}, chance);
    const WorkloadJudgement workload = judge(records).workloads.at(0);
    EXPECT_EQ(workload.certainty, Certainty::Sure) << "matrix " << i;
    EXPECT_EQ(name_of(workload.cells.front()), "async_shared");
    for (std::size_t at = 1; at < workload.cells.size(); ++at) {
      const AgainstFirst& other = workload.cells[at].against_first;
      EXPECT_GT(other.ratio->examples, 1.4);
      EXPECT_LT(other.ratio->each, 0.95);
      EXPECT_NEAR(other.ratio->time.value, other.ratio->examples * other.ratio->each, 1e-12);
      EXPECT_GT(other.interval->low, 1);
      EXPECT_GT(other.interval->high, other.ratio->time.value);
    }
  }
}

/// The share of matrices with equally fast cells in which some cell is called slower than the
/// first.
double share_of_wrong(const std::vector<MadeUpCell>& cells, const MadeUpRace& race, int matrices) {
  std::mt19937_64 chance(4);
  int sure = 0;
  for (int i = 0; i < matrices; ++i) {
    const auto records = made_up_races(cells, race, chance);
    sure += judge(records).workloads.at(0).certainty == Certainty::Sure ? 1 : 0;
  }
  return static_cast<double>(sure) / matrices;
}

TEST(FirstPlace, IsSureOfATieInOneOfTwentyAtMost) {
  constexpr int kMany = 300;  // 5 % of them: 15, with a deviation of 4
  const MadeUpCell noisy{.strategy = "async_shared", .examples_noise = 0.05};
  // Evaluations so close that only chance decides, then as far apart as chance moves a run.
  EXPECT_LE(share_of_wrong({{.strategy = "in_graph"}, noisy}, {.step = 0.01}, kMany), 0.09);
  EXPECT_LE(share_of_wrong({{.strategy = "in_graph"}, noisy}, {.step = 0.05}, kMany), 0.09);
  EXPECT_LE(share_of_wrong({{.strategy = "in_graph"}, noisy}, {.step = 0.15}, kMany), 0.09);
  EXPECT_LE(share_of_wrong({{.strategy = "in_graph"}, {.strategy = "all_reduce"}}, {}, kMany),
            0.09);
  EXPECT_LE(share_of_wrong(kEqual, {}, kMany), 0.09);
}

TEST(FirstPlace, CallsLevelWhatIsShownToDifferByLessThanMatters) {
  std::mt19937_64 chance(7);
  const std::vector<MadeUpCell> cells = {{.strategy = "in_graph", .each_noise = 0.002},
                                         {.strategy = "all_reduce", .each_noise = 0.002}};
  EXPECT_EQ(judge(made_up_races(cells, {}, chance)).workloads.at(0).certainty, Certainty::Level);
  auto apart = cells;
  apart[1].each = 1.015;
  EXPECT_EQ(judge(made_up_races(apart, {}, chance)).workloads.at(0).certainty, Certainty::Sure);
}

/// Adds runs of one cell, evaluated so often that their crossings are known.
void add_cell(std::vector<record::Record>& records, const std::string& strategy,
              const std::vector<double>& seconds) {
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const double each = seconds[i] / kUsualExamples;
    records.push_back(made_up_run({.strategy = strategy}, i + 1, kUsualExamples, each, 0.001));
  }
}

void make_missed(record::Record& record) {
  record.status = record::Status::Missed;
  record.training_time_to_target_ns.reset();
  record.full_time_to_target_ns.reset();
  record.examples_to_target.reset();
}

Certainty certainty_of(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<record::Record> records;
  add_cell(records, "all_reduce", a);
  add_cell(records, "single", b);
  return judge(records).workloads.front().certainty;
}

TEST(FirstPlace, IsSureOfTwoRunsOnlyWhereTheyAreFarApart) {
  EXPECT_EQ(certainty_of({1}, {9}), Certainty::Open);
  EXPECT_EQ(certainty_of({1, 1.01}, {1.05, 1.12}), Certainty::Open);
  EXPECT_EQ(certainty_of({1, 1.01}, {9, 9.2}), Certainty::Sure);
}

TEST(FirstPlace, RanksCellsAsIfEachHadRunTheSeedsOfAll) {
  std::vector<record::Record> records;
  add_cell(records, "all_reduce", {1, 8});  // the second seed takes eight times as long
  add_cell(records, "single", {1.1, 8.8, 1.1});
  add_cell(records, "in_graph", {1.2});
  const WorkloadJudgement workload = judge(records).workloads.front();
  EXPECT_EQ(name_of(workload.cells[0]), "all_reduce");
  EXPECT_EQ(name_of(workload.cells[1]), "single");
  EXPECT_NEAR(workload.cells[2].typical_seconds / workload.cells[0].typical_seconds, 1.2, 1e-6);
  EXPECT_NEAR(workload.cells[1].typical_seconds / workload.cells[0].typical_seconds, 1.1, 1e-6);
}

TEST(FirstPlace, IsAloneWithoutAnother) {
  EXPECT_EQ(certainty_of({1, 1.1, 1.2, 1.3, 1.4}, {}), Certainty::Alone);
}

TEST(FirstPlace, CountsAMissAsSlowerThanAnyRun) {
  std::vector<record::Record> records;
  add_cell(records, "all_reduce", {1, 1.1, 1.2, 1.3, 1.4});
  add_cell(records, "single", {1, 1, 1, 1, 1});
  for (std::size_t i = 5; i < 10; ++i) make_missed(records[i]);
  const WorkloadJudgement only = judge(records).workloads.front();
  EXPECT_EQ(only.certainty, Certainty::Sure);
  EXPECT_DOUBLE_EQ(only.cells[1].against_first.p, 2.0 / 252);  // C(10, 5) ways to deal them
  EXPECT_EQ(only.cells[1].against_first.standing, Standing::Missed);
  for (std::size_t i = 0; i < 5; ++i) make_missed(records[i]);
  EXPECT_EQ(judge(records).workloads.front().certainty, Certainty::NotReached);
}

TEST(FirstPlace, ComparesRanksWhereOneOfARunsMissed) {
  std::vector<record::Record> records;
  add_cell(records, "all_reduce", {1, 1.1, 1.2, 1.3, 1.4});
  add_cell(records, "single", {2, 2.1, 2.2, 2.3, 2.4});
  make_missed(records[9]);
  const WorkloadJudgement workload = judge(records).workloads.front();
  EXPECT_FALSE(workload.cells[1].against_first.ratio);
  EXPECT_DOUBLE_EQ(workload.cells[1].against_first.p, 2.0 / 252);
  EXPECT_EQ(workload.certainty, Certainty::Sure);
}

TEST(FirstPlace, CorrectsOverThePage) {
  std::vector<record::Record> records;
  for (const char* workload : {"parabola", "resnet9", "resnet9_thin"}) {
    std::vector<record::Record> one;
    const bool few = std::string(workload) == "resnet9";
    add_cell(one, "all_reduce", few ? std::vector{1.0, 2.0} : std::vector{1.0, 1.1, 1.2, 1.3, 1.4});
    add_cell(one, "single", few ? std::vector{4.0, 5.0} : std::vector{2.0, 2.3, 2.2, 2.1, 2.6});
    for (record::Record& record : one) {
      record.cell.workload = workload;
      record.run_id += workload;
      records.push_back(record);
    }
  }
  const Judgement judgement = judge(records);
  ASSERT_EQ(judgement.workloads.size(), 3U);
  const WorkloadJudgement& workload = judgement.workloads[2];
  EXPECT_DOUBLE_EQ(workload.cells[1].against_first.p,
                   3 * p_of(workload.cells[1].against_first.ratio->time));
  EXPECT_EQ(workload.certainty, Certainty::Sure);
  EXPECT_EQ(judgement.workloads[0].certainty, Certainty::Open);
}

}  // namespace
}  // namespace regatta::judge
