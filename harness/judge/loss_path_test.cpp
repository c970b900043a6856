// SPDX-License-Identifier: Apache-2.0
//
// The bounds of loss_path.h on real steps: sums in another order stay within them, faults do not.
#include "harness/judge/loss_path.h"

#include <gtest/gtest.h>

#include "harness/judge/reordered_run_for_test.h"

namespace regatta::judge {
namespace {

using testing_support::path_run;
using testing_support::PathSetting;
using testing_support::reordering;

/// Other seeds than those with which the bounds were measured.
constexpr std::uint64_t kFirstSeed = 101;

PathComparison compared(const PathSetting& setting, const testing_support::PathVariant& variant) {
  return compare_paths(path_run(setting, {}), path_run(setting, variant));
}

TEST(LossPath, HoldsWhenSumsAreTakenInAnotherOrder) {
  for (const PathSetting& setting : {PathSetting{.workload = "resnet9_thin", .steps = 12},
                                     PathSetting{.workload = "resnet9_thin", .steps = 24},
                                     PathSetting{.workload = "parabola", .steps = 200}}) {
    PathSetting each = setting;
    for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + 2; ++seed) {
      each.seed = seed;
      const FinishedRun single = path_run(each, {});
      for (std::uint64_t order = 0; order < 2; ++order) {
        const FinishedRun other = path_run(each, reordering(1000 * seed + order));
        const PathComparison path = compare_paths(single, other);
        EXPECT_EQ(path.steps, std::min(setting.steps, kComparedNorms));
        EXPECT_FALSE(path.departure)
            << setting.workload << ' ' << setting.steps << " seed " << seed << " order " << order
            << ": " << path.departure->what << " at step " << path.departure->step;
      }
    }
  }
}

/// Keeps only the norm of the last evaluation, like the record of a real run.
FinishedRun with_last_norm(FinishedRun run) {
  run.evaluations.erase(run.evaluations.begin(), run.evaluations.end() - 1);
  return run;
}

TEST(LossPath, IsLeftByAWrongWeightDecayThatLossesNeedNotShow) {
  for (const std::int64_t steps : {12, 48}) {
    const PathSetting setting{.workload = "resnet9_thin", .steps = steps, .seed = kFirstSeed};
    FinishedRun right = with_last_norm(path_run(setting, {}));
    right.losses.clear();
    for (const double decay : {0.0, 2.0}) {
      const FinishedRun wrong = with_last_norm(path_run(setting, {.decay = decay}));
      const PathComparison path = compare_paths(right, wrong);
      ASSERT_TRUE(path.departure) << steps << ' ' << decay;
      EXPECT_EQ(path.departure->what, "norm of the parameters");
      EXPECT_EQ(path.departure->step, std::min(steps, kComparedNorms));
    }
  }
}

TEST(LossPath, IsLeftByAGradientThatIsAveragedWrongly) {
  for (const PathSetting& setting :
       {PathSetting{.workload = "resnet9_thin", .steps = 12, .seed = kFirstSeed},
        PathSetting{.workload = "parabola", .steps = 200, .seed = kFirstSeed}}) {
    EXPECT_TRUE(compared(setting, {.workers = 2, .divisor = 2}).departure) << setting.workload;
  }
}

TEST(LossPath, DoesWithoutNormsThatOlderRecordsLack) {
  const PathSetting setting{.workload = "parabola", .steps = 20};
  const FinishedRun run = path_run(setting, {});
  FinishedRun older = run;
  for (record::Evaluation& evaluation : older.evaluations) evaluation.parameter_norm = 0;
  const PathComparison path = compare_paths(older, run);
  EXPECT_FALSE(path.departure);
  EXPECT_EQ(path.steps, kComparedLosses);
}

TEST(LossPath, NamesTheFirstStepThatDiffers) {
  const PathSetting setting{.workload = "parabola", .steps = 20};
  const FinishedRun run = path_run(setting, {});
  FinishedRun other = run;
  other.losses[3].loss *= 1.5;
  other.evaluations[0].parameter_norm *= 1.5;
  const PathComparison path = compare_paths(run, other);
  ASSERT_TRUE(path.departure);
  EXPECT_EQ(path.departure->step, 1);
  EXPECT_EQ(path.departure->what, "norm of the parameters");
  other.evaluations = run.evaluations;
  EXPECT_EQ(compare_paths(run, other).departure->step, 3);
  EXPECT_EQ(compare_paths(run, other).departure->what, "loss");
}

}  // namespace
}  // namespace regatta::judge
