// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/tune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/base/error_for_test.h"

namespace regatta::matrix {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kRace = R"(
    tune_seeds = [8, 9]
    [[race]]
    workload = "parabola"
    strategy = ["single", "diloco"]
    [[race]]
    workload = "parabola"
    strategy = "diloco"
    workers = 2
    straggler = ["1:2", "1:3"]
    [[tune]]
    strategy = "diloco"
    rate_scale = [0.5, 1, 2]
)";

/// A run that reached the target in `seconds` or, if that is 0, missed it with the last metric
/// `metric`.
judge::FinishedRun run(double seconds, double metric = 0) {
  judge::FinishedRun run{
      .arguments = {}, .status = record::Status::Missed, .metric = metric, .seconds = 10};
  if (seconds > 0) {
    run.status = record::Status::Reached;
    run.seconds_to_target = seconds;
  }
  return run;
}

/// The rate chosen for diloco with two workers after these trials of rates 0.5, 1 and 2.
std::string chosen(const std::vector<std::vector<judge::FinishedRun>>& runs,
                   std::string* text = nullptr) {
  MatrixPlan plan = parse_matrix(kRace, "m.toml");
  const auto texts = Tuning(plan).choose(plan, [&](const MatrixCell& cell) {
    const std::string& rate = cell.arguments.back();
    return runs[rate == "0.5" ? 0 : rate == "1" ? 1 : 2];
  });
  if (text != nullptr) *text = texts.at("parabola");
  EXPECT_EQ(plan.cells[0].name, "parabola single (1 worker)");
  EXPECT_EQ(plan.cells[2].arguments.back(), plan.cells[3].arguments.back());
  return plan.cells[3].settings.back();
}

TEST(Tuning, TriesEveryCombinationOnSeedsOfItsOwnAndAStragglersCellsOnce) {
  const MatrixPlan trials = Tuning(parse_matrix(kRace, "m.toml")).trials();
  EXPECT_THAT(trials.seeds, ElementsAre(8, 9));
  ASSERT_EQ(trials.cells.size(), 6U);
  EXPECT_EQ(trials.cells[0].name, "parabola diloco (1 worker, rate-scale=0.5)");
  EXPECT_EQ(trials.cells[5].name, "parabola diloco (2 workers, rate-scale=2)");
}

TEST(Tuning, TakesWhatReachedTheTargetMostOftenThenSoonestThenCameNearest) {
  std::string text;
  EXPECT_EQ(chosen({{run(9), run(9)}, {run(1), run(0)}, {run(4), run(16)}}, &text), "rate-scale=2");
  EXPECT_EQ(text,
            "settings chosen by 12 runs on seeds 8, 9 (2 min): rate-scale=2 for diloco (1 "
            "worker), diloco (2 workers)");
  EXPECT_EQ(chosen({{run(0, 3), run(0, 3)}, {run(0, 2), run(0, 1)}, {run(0, 0.5)}}),
            "rate-scale=1");  // a run of the third rate crashed
}

TEST(Tuning, KeepsWhatACellSaysItselfAndLeavesMeasurementsAlone) {
  const auto trials = [](const std::string& cell) {
    return Tuning(parse_matrix("[[race]]\nworkload = 'parabola'\n" + cell +
                                   "\n[[tune]]\nrate_scale = [1, 2]\nevaluate = ['often', 'end']",
                               "m.toml"))
        .trials()
        .cells.size();
  };
  EXPECT_EQ(trials("rate_scale = 4"), 2U);
  EXPECT_EQ(trials("steps = 9"), 0U);
  EXPECT_EQ(trials("steps = 10"), 4U);
}

TEST(Tuning, RefusesABlockWithoutCellsAndOneThatCostsTooMuch) {
  const auto error_of = [](const std::string& tune) -> std::string {
    return regatta::testing_support::error_of(
        [&] { parse_matrix("[[race]]\nworkload = 'parabola'\n" + tune, "m.toml"); });
  };
  EXPECT_THAT(error_of("[[tune]]\nstrategy = 'diloco'\nrate_scale = 2"),
              HasSubstr("[[tune]] number 1: no cell has its strategy and workload"));
  EXPECT_THAT(error_of("[[tune]]\nrate_scale = [1, 2, 3, 4]\nevaluate = ['often', 'end']\n"
                       "fusion = ['on', 'off']"),
              HasSubstr("32 runs of a cell are more than tune_budget = 20"));
}

}  // namespace
}  // namespace regatta::matrix
