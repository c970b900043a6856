// SPDX-License-Identifier: Apache-2.0
#include "harness/compare.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

namespace regatta {
namespace {

/// Runs of one cell; a run of no examples to the target has missed it.
std::vector<FinishedRun> runs(const std::string& cell,
                              const std::vector<double>& seconds_per_example,
                              const std::vector<double>& examples) {
  std::vector<FinishedRun> result;
  for (std::size_t i = 0; i < seconds_per_example.size(); ++i) {
    FinishedRun run{.cell = cell, .name = cell, .status = Status::Missed};
    run.examples_per_s = 1 / seconds_per_example[i];
    if (examples[i] > 0) {
      run.status = Status::Reached;
      run.examples_to_target = examples[i];
    }
    result.push_back(run);
  }
  return result;
}

const std::vector<double> kTimes = {1.00, 1.01, 1.02, 0.99, 1.005, 1.015, 0.995, 1.0};
const std::vector<double> kExamples = {100, 110, 120, 105, 115, 108, 112, 118};

std::vector<double> times(double factor) {
  std::vector<double> result = kTimes;
  for (double& each : result) each = each * factor + 1e-4;
  return result;
}

CellComparison compared(const std::vector<FinishedRun>& base,
                        const std::vector<FinishedRun>& head) {
  const std::vector<CellComparison> cells = compare(base, head, {});
  EXPECT_EQ(cells.size(), 1U);
  return cells.front();
}

TEST(Compare, SeesASlowerCellAndAFasterOne) {
  const auto base = runs("a", kTimes, kExamples);
  const CellComparison slower = compared(base, runs("a", times(1.1), kExamples));
  EXPECT_EQ(slower.speed.verdict, Verdict::Regressed);
  EXPECT_NEAR(*slower.speed.ratio, 1.1, 0.01);
  EXPECT_EQ(slower.convergence.verdict, Verdict::Unchanged);
  EXPECT_EQ(compared(base, runs("a", times(0.9), kExamples)).speed.verdict, Verdict::Improved);
}

TEST(Compare, CallsUnchangedOnlyWhatWouldHaveShown) {
  const auto base = runs("a", kTimes, kExamples);
  EXPECT_EQ(compared(base, runs("a", times(1.005), kExamples)).speed.verdict, Verdict::Unchanged);
  const std::vector<double> few = {1.00, 1.01, 1.02};
  const auto three = runs("a", few, {100, 110, 120});
  const CellComparison unknown = compared(three, runs("a", {1.5, 1.6, 1.7}, {100, 110, 120}));
  EXPECT_EQ(unknown.speed.verdict, Verdict::Inconclusive);  // n = 3 is never significant
  EXPECT_FALSE(unknown.speed.detectable);
}

TEST(Compare, CountsARunThatMissesItsTargetAsInfinitelySlow) {
  const auto base = runs("a", kTimes, kExamples);
  const auto never = runs("a", kTimes, std::vector<double>(8, 0));
  const CellComparison lost = compared(base, never);
  EXPECT_EQ(lost.convergence.verdict, Verdict::Regressed);
  EXPECT_EQ(*lost.convergence.ratio, std::numeric_limits<double>::infinity());
  EXPECT_EQ(compared(never, base).convergence.verdict, Verdict::Improved);
  EXPECT_EQ(compared(never, never).convergence.verdict, Verdict::NotMeasured);
}

TEST(Compare, ListsWhatOneSideLacksAndWhatFailed) {
  auto base = runs("a", kTimes, kExamples);
  for (const FinishedRun& run : runs("b", kTimes, kExamples)) base.push_back(run);
  auto head = runs("c", kTimes, kExamples);
  for (const FinishedRun& run : runs("a", kTimes, kExamples)) head.push_back(run);
  head.back().status = Status::Failed;
  const std::vector<CellComparison> cells = compare(base, head, {});
  ASSERT_EQ(cells.size(), 3U);
  EXPECT_EQ(cells[0].head_failed, 1U);
  EXPECT_EQ(cells[1].name, "b");
  EXPECT_EQ(cells[1].head_runs, 0U);
  EXPECT_EQ(cells[1].speed.verdict, Verdict::NotMeasured);
  EXPECT_EQ(cells[2].base_runs, 0U);
}

TEST(Compare, CorrectsForTheNumberOfCells) {
  std::vector<FinishedRun> base;
  std::vector<FinishedRun> head;
  for (int cell = 0; cell < 20; ++cell) {
    const std::string name = std::to_string(cell);
    const std::vector<double> five(kTimes.begin(), kTimes.begin() + 5);
    const std::vector<double> counts(kExamples.begin(), kExamples.begin() + 5);
    std::vector<double> slower;
    for (double each : five) slower.push_back(cell == 0 ? each * 1.2 : each);
    for (const auto& run : runs(name, five, counts)) base.push_back(run);
    for (const auto& run : runs(name, slower, counts)) head.push_back(run);
  }
  // p is 2 / 252 at the least with 5 runs: too much for one of 40 tests.
  const std::vector<CellComparison> cells = compare(base, head, {});
  EXPECT_EQ(cells[0].speed.verdict, Verdict::Inconclusive);
  EXPECT_FALSE(cells[0].speed.detectable);
}

TEST(FinishedRuns, SkipsLinesThatAreNoRecordsAndCountsThem) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "finished_runs";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "records.jsonl")
      << R"({"command":"regatta run --workload parabola --seed 3 --out x","cell":{"workload":)"
         R"("parabola","strategy":"all_reduce","workers":2,"seed":3},"status":"reached",)"
         R"("examples_to_target":50,"training_time_to_target_ns":2000000000,"examples_per_s":7,)"
         R"("evaluations":[{"metric":0.5}],"full_ns":1000000000})"
      << "\n{\"command\": \"regatta ru\n[1]\n{\"command\":7}\n\n";
  const FinishedRuns found = finished_runs(folder);
  ASSERT_EQ(found.runs.size(), 1U);
  EXPECT_EQ(found.other_lines, 4);
  const FinishedRun& run = found.runs.front();
  EXPECT_EQ(run.arguments, (std::vector<std::string>{"--workload", "parabola", "--seed", "3"}));
  EXPECT_EQ(run.name, "parabola all_reduce x2");
  EXPECT_EQ(run.cell.find("seed"), std::string::npos);
  EXPECT_EQ(run.status, Status::Reached);
  EXPECT_EQ(run.seconds_to_target, 2);
  EXPECT_EQ(run.examples_to_target, 50);
  EXPECT_EQ(run.metric, 0.5);
  EXPECT_EQ(run.seconds, 1);
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(finished_runs(folder).runs.empty());
}

}  // namespace
}  // namespace regatta
