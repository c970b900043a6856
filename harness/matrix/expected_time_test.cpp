// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/expected_time.h"

#include <gtest/gtest.h>

#include "workloads/workload.h"

namespace regatta {
namespace {

MatrixCell parabola_cell(const std::string& strategy) {
  return {.arguments = {"--workload", "parabola", "--strategy", strategy, "--workers", "2",
                        "--steps", "400"},
          .name = ""};
}

/// A run of 1,000 examples: 0.5 s of set-up, 1 ms an example, 0.1 s an evaluation.
FinishedRun run_of(const std::string& cell, const std::string& strategy, double seconds) {
  FinishedRun run{.cell = cell, .strategy = strategy, .dtype = "f32", .status = Status::Missed};
  run.seconds = seconds;
  run.workload = "parabola";
  run.device = "cpu";
  run.dataset = "curve";
  run.setup_seconds = 0.4;
  run.warmup_seconds = 0.1;
  run.training_seconds = 1;
  run.evaluation_seconds = 0.1;
  run.examples = 1000;
  return run;
}

TEST(ExpectedTime, NamesACellAsItsRecordsDo) {
  const RunLength length = run_length(parabola_cell("all_reduce"));
  EXPECT_EQ(length.cell, "parabola all_reduce (2 workers, steps=400)");
  EXPECT_EQ(length.examples, 400 * 50);
  EXPECT_GE(length.evaluations, 2);
}

TEST(ExpectedTime, RestsOnWhatIsNearest) {
  const RunLength length = run_length(parabola_cell("all_reduce"));
  const std::vector<FinishedRun> same = {run_of(length.cell, "all_reduce", 7),
                                         run_of(length.cell, "all_reduce", 9),
                                         run_of(length.cell, "all_reduce", 8)};
  const std::vector<FinishedRun> shorter = {run_of("a", "all_reduce", 3)};
  const std::vector<FinishedRun> other = {run_of("b", "single", 3)};
  const double by_pace = 0.5 + length.examples * 1e-3 + length.evaluations * 0.1;
  const auto expect = [&](const KnownRuns& known, double seconds, Basis basis) {
    const auto time = expected_time(length, known);
    ASSERT_TRUE(time.has_value());
    EXPECT_NEAR(time->seconds, seconds, 1e-9) << to_string(basis);
    EXPECT_EQ(time->basis, basis) << to_string(time->basis);
  };
  expect({.here = same, .committed = shorter, .timed = other}, 8, Basis::CellHere);
  expect({.here = shorter, .committed = same, .timed = other}, 8, Basis::CellCommitted);
  expect({.here = other, .committed = shorter, .timed = {}}, by_pace, Basis::Strategy);
  expect({.here = {}, .committed = other, .timed = other}, by_pace, Basis::Workload);
  expect({.here = {}, .committed = {}, .timed = other}, by_pace, Basis::ShortRun);
}

TEST(ExpectedTime, CountsEvaluationsByTheSizeOfTheTestSet) {
  RunLength length = run_length(parabola_cell("all_reduce"));
  length.workload = "resnet9_thin";
  length.dataset = "cifar10";
  std::vector<FinishedRun> made{run_of("a", "all_reduce", 3)};
  made[0].workload = "resnet9_thin";
  made[0].dataset = "shapes";
  const double ratio = 10'000.0 / static_cast<double>(data_set_sizes("shapes")->test);
  EXPECT_GT(ratio, 1);
  const auto time = expected_time(length, {.here = made, .committed = {}, .timed = {}});
  ASSERT_TRUE(time.has_value());
  EXPECT_NEAR(time->seconds, 0.4 + length.examples * 1e-3 + ratio * 0.1 * (1 + length.evaluations),
              1e-9);
}

TEST(ExpectedTime, CountsEvaluationsAsARaceMakesThem) {
  MatrixCell cell = parabola_cell("all_reduce");
  const auto evaluations = [&](const char* steps) {
    cell.arguments.back() = steps;
    return run_length(cell).evaluations;
  };
  const double of_many = evaluations("4000");
  EXPECT_EQ(evaluations("8000"), of_many + 4000 / 20);  // a period has 20 steps
  EXPECT_EQ(evaluations("8001"), of_many + 4000 / 20 + 1);
  EXPECT_EQ(evaluations("1"), 1);
}

TEST(ExpectedTime, IsNotKnownFromOtherWorkloadsDtypesStragglersOrFailures) {
  const RunLength length = run_length(parabola_cell("all_reduce"));
  std::vector<FinishedRun> runs(3, run_of("a", "all_reduce", 3));
  runs[0].workload = "resnet9_thin";
  runs[1].dtype = "bf16";
  runs[2].status = Status::Failed;
  runs.push_back(run_of("a", "all_reduce", 3));
  runs.back().straggler = "1:3";
  EXPECT_FALSE(expected_time(length, {.here = runs, .committed = runs, .timed = runs}));
}

}  // namespace
}  // namespace regatta
