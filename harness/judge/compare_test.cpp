// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "harness/judge/compare_test.h"
#include "harness/judge/statistics.h"
#include "harness/system/folder_for_test.h"
#include "kernels/base/error.h"

namespace regatta::judge {
namespace {

std::vector<double> counts(double factor) {
  std::vector<double> result = kExamples;
  for (double& each : result) each *= factor;
  return result;
}

TEST(Compare, SeesASlowerCellAndAFasterOne) {
  const auto base = timed_runs("a", kTimes, kExamples);
  const CellComparison slower = compared(base, timed_runs("a", times(1.1), kExamples));
  EXPECT_EQ(slower.speed.verdict, Verdict::Regressed);
  EXPECT_NEAR(*slower.speed.ratio, 1.1, 0.01);
  EXPECT_EQ(slower.convergence.verdict, Verdict::Unchanged);
  EXPECT_EQ(compared(base, timed_runs("a", times(0.9), kExamples)).speed.verdict,
            Verdict::Improved);
}

TEST(Compare, CallsUnchangedOnlyWhatWouldHaveShown) {
  const auto base = timed_runs("a", kTimes, kExamples);
  EXPECT_EQ(compared(base, timed_runs("a", times(1.005), kExamples)).speed.verdict,
            Verdict::Unchanged);
  const auto two = timed_runs("a", {1.00, 1.02}, {100, 110});
  const CellComparison unknown = compared(two, timed_runs("a", {1.03, 1.05}, {100, 110}));
  EXPECT_EQ(unknown.speed.verdict, Verdict::NotEnoughData);
  EXPECT_LT(unknown.speed.interval->low, 1);
  EXPECT_GT(unknown.speed.interval->high, 1.05);
  const CellComparison tenfold = compared(two, timed_runs("a", {10, 10.2}, {100, 110}));
  EXPECT_EQ(tenfold.speed.verdict, Verdict::Regressed);
  const CellComparison one =
      compared(timed_runs("a", {1.0}, {100}), timed_runs("a", {10.0}, {100}));
  EXPECT_EQ(one.speed.verdict, Verdict::NotEnoughData);
  EXPECT_EQ(one.speed.interval->low, 0);
  EXPECT_EQ(one.speed.interval->high, kInfinity);
}

TEST(Compare, CountsARunThatMissesItsTargetAsInfinitelySlow) {
  const auto base = timed_runs("a", kTimes, kExamples);
  const auto never = timed_runs("a", kTimes, std::vector<double>(8, 0));
  const CellComparison lost = compared(base, never);
  EXPECT_EQ(lost.convergence.verdict, Verdict::Regressed);
  EXPECT_EQ(*lost.convergence.ratio, std::numeric_limits<double>::infinity());
  EXPECT_EQ(compared(never, base).convergence.verdict, Verdict::Improved);
  EXPECT_EQ(compared(never, never).convergence.verdict, Verdict::NotMeasured);
}

TEST(Compare, PairsSeedsBecauseTheyDifferMoreThanCommits) {
  const auto base = timed_runs("a", kTimes, kExamples);  // 100 to 120 examples
  const CellComparison worse = compared(base, timed_runs("a", kTimes, counts(1.15)));
  EXPECT_EQ(worse.convergence.verdict, Verdict::Regressed);
  EXPECT_NEAR(*worse.convergence.ratio, 1.15, 1e-9);
  auto shuffled = timed_runs("a", kTimes, counts(1.15));
  std::reverse(shuffled.begin(), shuffled.end());
  EXPECT_EQ(compared(base, shuffled).convergence.verdict, Verdict::Regressed);
  auto others = timed_runs("a", kTimes, counts(1.02));
  const auto width = [](const CellComparison& cell) {
    return cell.convergence.interval->high / cell.convergence.interval->low - 1;
  };
  EXPECT_NEAR(width(compared(base, others)), 0, 1e-6);
  for (FinishedRun& run : others) run.cell.seed += 100;  // compares two samples that are not paired
  EXPECT_GT(width(compared(base, others)), 0.05);
}

TEST(Compare, JudgesTheLastLossWhereNoRunReachesTheTarget) {
  auto base = timed_runs("a", kTimes, std::vector<double>(8, 0));
  auto head = base;
  for (std::size_t i = 0; i < base.size(); ++i) {
    base[i].last_loss = 1 + 0.3 * static_cast<double>(i);
    head[i].last_loss = *base[i].last_loss * 1.2;
  }
  EXPECT_EQ(compared(base, head).convergence.verdict, Verdict::Regressed);
  EXPECT_NEAR(*compared(base, head).convergence.ratio, 1.2, 1e-9);
  EXPECT_EQ(compared(head, base).convergence.verdict, Verdict::Improved);
  EXPECT_EQ(compared(base, base).convergence.verdict, Verdict::Unchanged);
}

/// Runs of a synchronous cell with losses that fall by 2 % a step; `noise` grows with the steps,
/// like the effect of another order of additions.
std::vector<FinishedRun> synchronous_runs(double rate, double noise) {
  std::vector<FinishedRun> result = timed_runs("a", kTimes, kExamples);
  for (FinishedRun& run : result) {
    run.cell.strategy = "all_reduce";
    run.cell.global_batch = 64;
    run.checksums = {.initial_weights = "a1", .data_order = "b2"};
    for (int step = 0; step < 12; ++step) {
      const double loss = 2.3 * std::pow(1 - 0.02 * rate, step) * (1 + noise * std::pow(3, step));
      run.losses.push_back({.examples = 64 * step, .loss = loss});
    }
  }
  return result;
}

TEST(Compare, TellsAWrongGradientByTheFirstLossesOfEachSeed) {
  const CellComparison wrong = compared(synchronous_runs(1, 0), synchronous_runs(0.75, 0));
  EXPECT_EQ(wrong.convergence.verdict, Verdict::Regressed);
  EXPECT_EQ(wrong.convergence.note,
            "computes something else in 8 of 8 runs: seed 1, step 1: loss 2.254 became 2.2655");
  EXPECT_EQ(wrong.speed.verdict, Verdict::Unchanged);
  // Faster learning is no excuse: a gradient that counts double looks the same.
  const CellComparison faster = compared(synchronous_runs(1, 0), synchronous_runs(1.5, 0));
  EXPECT_EQ(faster.convergence.verdict, Verdict::Regressed);
}

TEST(Compare, TellsThatOtherExamplesWereConsumed) {
  const auto base = synchronous_runs(1, 0);
  auto head = base;
  for (FinishedRun& run : head) run.checksums.data_order = "c3";
  const CellComparison others = compared(base, head);
  EXPECT_EQ(others.convergence.verdict, Verdict::Regressed);
  EXPECT_EQ(others.convergence.note,
            "computes something else in 8 of 8 runs: seed 1: other examples, or in another order");
  for (FinishedRun& run : head) run.checksums.data_order = "";  // like older records
  EXPECT_EQ(compared(base, head).convergence.verdict, Verdict::Unchanged);
}

TEST(Compare, ForgivesWhatRoundingExplains) {
  const CellComparison rounded = compared(synchronous_runs(1, 0), synchronous_runs(1, 1e-7));
  EXPECT_EQ(rounded.convergence.verdict, Verdict::Unchanged);
  EXPECT_EQ(rounded.convergence.note, "");
  auto one_torn = synchronous_runs(1, 0);
  one_torn[2] = synchronous_runs(0.75, 0)[2];
  EXPECT_EQ(compared(synchronous_runs(1, 0), one_torn).convergence.verdict, Verdict::Unchanged);
}

TEST(Compare, TellsAWrongWeightDecayByTheNormThatLossesNeedNotShow) {
  const auto verdict = [](double norm) {
    auto base = synchronous_runs(1, 0);
    auto head = base;
    for (FinishedRun& run : base) run.evaluations = {{.examples = 64 * 12, .parameter_norm = 10}};
    for (FinishedRun& run : head) run.evaluations = {{.examples = 64 * 12, .parameter_norm = norm}};
    return compared(base, head).convergence;
  };
  EXPECT_EQ(verdict(10.01).verdict, Verdict::Regressed);
  EXPECT_THAT(verdict(10.01).note, testing::HasSubstr("step 12: norm of the parameters 10 became"));
  EXPECT_EQ(verdict(10.004).verdict, Verdict::Unchanged);  // reordered sums explain that
  EXPECT_EQ(verdict(0).verdict, Verdict::Unchanged);       // older records have no norms
}

TEST(Compare, HoldsNothingTogetherThatNeedNotBeEqual) {
  const auto base = synchronous_runs(1, 0);
  const auto verdict = [&base](const auto& change) {
    auto before = base;
    auto after = synchronous_runs(0.75, 0);
    for (auto* side : {&before, &after}) {
      for (FinishedRun& run : *side) change(run, side == &after);
    }
    return compared(before, after).convergence.verdict;
  };
  EXPECT_EQ(verdict([](FinishedRun& run, bool) { run.cell.strategy = "async_shared"; }),
            Verdict::Unchanged);
  EXPECT_EQ(verdict([](FinishedRun& run, bool) { run.cell.strategy = "of the future"; }),
            Verdict::Unchanged);
  EXPECT_EQ(verdict([](FinishedRun& run, bool) { run.cell.dtype = "bf16"; }), Verdict::Unchanged);
  EXPECT_EQ(verdict([](FinishedRun& run, bool) { run.has_quorum = true; }), Verdict::Unchanged);
  EXPECT_EQ(verdict([](FinishedRun& run, bool head) {
              if (head) run.checksums.initial_weights = "c3";
            }),
            Verdict::Unchanged);
  EXPECT_EQ(verdict([](FinishedRun&, bool) {}), Verdict::Regressed);
  const auto cells =
      compare({.runs = base}, {.runs = synchronous_runs(0.75, 0)}, {.losses = LossPaths::Ignored});
  EXPECT_EQ(cells.at(0).convergence.verdict, Verdict::Unchanged);
}

TEST(Compare, ComparesMedianStepsOfPairsThatWereTakenInTurn) {
  // A machine that is busy during half of the seeds, for both sides alike.
  auto base = timed_runs("a", kTimes, kExamples);
  auto head = base;
  for (std::size_t i = 0; i < base.size(); ++i) {
    base[i].median_step_s = kTimes[i] * (i % 2 == 0 ? 1 : 2);
    head[i].median_step_s = *base[i].median_step_s * 1.1;
    head[i].examples_per_s /= 1.5;  // by a few steps that were hit harder
  }
  const auto speed = [&](const auto& before, const auto& after) {
    return compare({.runs = before}, {.runs = after}, {.taken = Taken::InTurn}).at(0).speed;
  };
  EXPECT_EQ(speed(base, head).verdict, Verdict::Regressed);
  EXPECT_NEAR(*speed(base, head).ratio, 1.1, 1e-9);
  EXPECT_EQ(speed(head, base).verdict, Verdict::Improved);
  EXPECT_EQ(speed(base, base).verdict, Verdict::Unchanged);
  EXPECT_NEAR(*compared(base, head).speed.ratio, 1.5, 0.01);  // taken apart
  head[0].status = record::Status::Failed;
  EXPECT_NEAR(*speed(base, head).ratio, 1.1, 1e-9);  // its pair is left out
}

TEST(Compare, ListsWhatOneSideLacksAndWhatFailed) {
  auto base = timed_runs("a", kTimes, kExamples);
  for (const FinishedRun& run : timed_runs("b", kTimes, kExamples)) base.push_back(run);
  auto head = timed_runs("c", kTimes, kExamples);
  for (const FinishedRun& run : timed_runs("a", kTimes, kExamples)) head.push_back(run);
  head.back().status = record::Status::Failed;
  const std::vector<CellComparison> cells = compare({.runs = base}, {.runs = head}, {});
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
    for (double each : five) slower.push_back(each * (cell == 0 ? 1.2 : 1.001));
    for (const auto& run : timed_runs(name, five, counts)) base.push_back(run);
    for (const auto& run : timed_runs(name, slower, counts)) head.push_back(run);
  }
  // Convergence, which is equal, is not among the tests: 20 share the error.
  const std::vector<CellComparison> cells = compare({.runs = base}, {.runs = head}, {});
  EXPECT_EQ(cells[0].speed.verdict, Verdict::Regressed);
  const auto first_of = [](const std::vector<FinishedRun>& all) {
    return Measurements{.runs = {all.begin(), all.begin() + 10}};  // two cells
  };
  const std::vector<CellComparison> two = compare(first_of(base), first_of(head), {});
  EXPECT_LT(two[1].speed.interval->high, cells[1].speed.interval->high);
}

TEST(Compare, SaysWhichRunsStoppedByAnotherRule) {
  Measurements fixed{.runs = timed_runs("a", kTimes, kExamples)};
  Measurements decided = fixed;
  for (FinishedRun& run : decided.runs) run.has_round = true;
  EXPECT_EQ(note_on_stopping(fixed, fixed), "");
  EXPECT_EQ(note_on_stopping(decided, decided), "");
  EXPECT_TRUE(note_on_stopping(fixed, decided)
                  .starts_with("runs differ in their stopping rule: 0 of 8 in base and 8 of 8 in "
                               "head are of a race with --decide"));
}

class ComparedFolders : public testing::Test {
 protected:
  /// Eight runs of about `speed` examples/s in FOLDER/records.jsonl.
  std::string write(const std::string& folder, double speed) const {
    std::filesystem::create_directories(path_ / folder);
    std::ofstream records(path_ / folder / "records.jsonl");
    for (int seed = 1; seed <= 8; ++seed) {
      records << R"({"command":"regatta run --seed 1","status":"missed","cell":{"workload":"a",)"
              << R"("strategy":"single","workers":1,"seed":)" << seed << R"(},"examples_per_s":)"
              << speed + 0.1 * seed << R"(,"evaluations":[{"metric":0.5,"loss":0.25}]})" << '\n';
    }
    return path_ / folder;
  }

  const testing_support::ScratchFolder folder_;
  const std::filesystem::path& path_ = folder_.path();
};

TEST_F(ComparedFolders, GiveTheExitCodeThatTheirRunsDeserve) {
  const std::string base = write("base", 150);
  const std::string same = write("same", 150.01);
  const std::string slower = write("slower", 100);
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_compare({.base = base, .head = same}), 0);
  EXPECT_EQ(run_compare({.base = base, .head = slower, .format = CompareFormat::Markdown}), 3);
  EXPECT_EQ(run_compare({.base = base, .head = slower, .format = CompareFormat::Json}), 3);
  const std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_NE(printed.find("2 unchanged"), std::string::npos) << printed;
  EXPECT_NE(printed.find("**1 regressed, 1 unchanged**"), std::string::npos) << printed;
  EXPECT_NE(printed.find("| **regressed** | +49"), std::string::npos) << printed;
  EXPECT_NE(printed.find(R"("verdict": "regressed")"), std::string::npos) << printed;
  EXPECT_THROW(run_compare({.base = base, .head = path_ / "nowhere"}), RunError);
}

TEST(FinishedRuns, SkipsLinesThatAreNoRecordsAndCountsThem) {
  const testing_support::ScratchFolder scratch;
  const std::filesystem::path& folder = scratch.path();
  std::ofstream(folder / "records.jsonl")
      << R"({"command":"regatta run --workload parabola --seed 3 --out x","cell":{"workload":)"
         R"("parabola","strategy":"all_reduce","workers":2,"seed":3},"status":"reached",)"
         R"("examples_to_target":50,"training_time_to_target_ns":2000000000,"examples_per_s":7,)"
         R"("evaluations":[{"metric":0.5,"loss":0.25}],"losses":[{"examples":0,"loss":3}],)"
         R"("checksums":{"initial_weights":"a"},"full_ns":1000000000})"
      << "\n{\"command\": \"regatta ru\n[1]\n{\"command\":7}\n\n";
  const FinishedRuns found = finished_runs(folder);
  ASSERT_EQ(found.runs.size(), 1U);
  EXPECT_EQ(found.warnings.size(), 3U);
  const FinishedRun& run = found.runs.front();
  EXPECT_EQ(run.arguments, (std::vector<std::string>{"--workload", "parabola", "--seed", "3"}));
  EXPECT_TRUE(run.name.starts_with("parabola all_reduce (2 workers")) << run.name;
  EXPECT_EQ(run.name.find("seed"), std::string::npos);
  EXPECT_EQ(run.status, record::Status::Reached);
  EXPECT_EQ(run.seconds_to_target, 2);
  EXPECT_EQ(run.examples_to_target, 50);
  EXPECT_EQ(run.metric, 0.5);
  EXPECT_EQ(run.last_loss, 0.25);
  EXPECT_EQ(run.cell.seed, 3U);
  EXPECT_EQ(run.cell.strategy, "all_reduce");
  EXPECT_EQ(run.checksums.initial_weights, "a");
  ASSERT_EQ(run.losses.size(), 1U);
  EXPECT_EQ(run.losses[0].loss, 3);
  EXPECT_EQ(run.seconds, 1);
  EXPECT_TRUE(finished_runs(folder / "nowhere").runs.empty());
}

}  // namespace
}  // namespace regatta::judge
