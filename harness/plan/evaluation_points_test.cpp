// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/evaluation_points.h"

#include <gtest/gtest.h>

#include <vector>

namespace regatta::plan {
namespace {

const record::Target kAccuracy{.metric = "accuracy", .value = 90};
const record::Target kLoss{.metric = "loss", .value = 0.05};

/// The evaluation points of a run whose metric after n examples is `curve(n)`.
template <typename Curve>
std::vector<std::int64_t> points_of(const EvaluationPoints& points, const record::Target& target,
                                    const Curve& curve) {
  std::vector<record::Evaluation> evaluations = {{.examples = 0, .metric = curve(0)}};
  std::vector<std::int64_t> at;
  for (std::int64_t examples = 0; examples < points.total;) {
    examples = next_evaluation(points, target, evaluations, examples);
    at.push_back(examples);
    evaluations.push_back({.examples = examples, .metric = curve(examples)});
  }
  return at;
}

TEST(EvaluationPoints, AreWholeBatchesAndFourTimesAsCloseNearTheTarget) {
  const EvaluationPoints points = evaluation_points(1000, 64, 8000);
  EXPECT_EQ(points.period, 15 * 64);
  EXPECT_EQ(points.fine, 3 * 64);
  EXPECT_EQ(evaluation_points(50, 64, 8000).period, 64);
  EXPECT_EQ(evaluation_points(50, 64, 8000).fine, 64);
}

TEST(EvaluationPoints, AtTheEndAreOne) {
  const EvaluationPoints points = evaluation_at(4000);
  const auto curve = [](std::int64_t examples) { return static_cast<double>(examples) / 40; };
  EXPECT_EQ(points_of(points, kAccuracy, curve), (std::vector<std::int64_t>{4000}));
  EXPECT_GE(most_evaluations(points), 2);  // one is before training
}

TEST(EvaluationPoints, AreCloseBeforeTheTargetAndNowhereElse) {
  const EvaluationPoints points = evaluation_points(800, 100, 4000);
  // The metric grows by 20 % per period, so the target is near from 60 % on.
  const auto curve = [](std::int64_t examples) { return static_cast<double>(examples) / 40; };
  const auto at = points_of(points, kAccuracy, curve);
  EXPECT_EQ(at,
            (std::vector<std::int64_t>{800, 1600, 2400, 2600, 2800, 3000, 3200, 3400, 3600, 4000}));
}

TEST(EvaluationPoints, ExpectLossesToGoOnFalling) {
  const EvaluationPoints points = evaluation_points(800, 100, 4000);
  const auto at = points_of(points, kLoss, [](auto examples) {
    return examples < 800 ? 1.0 : examples < 1600 ? 0.5 : examples < 2000 ? 0.1 : 0.04;
  });
  EXPECT_EQ(at,
            (std::vector<std::int64_t>{800, 1000, 1200, 1400, 1600, 1800, 2000, 2400, 3200, 4000}));
}

TEST(EvaluationPoints, AreCloseAlthoughAnAccuracyHasJustFallen) {
  const EvaluationPoints points = evaluation_points(800, 100, 4000);
  const auto at = points_of(points, kAccuracy, [](auto examples) {
    return examples < 800 ? 10.0 : examples < 1600 ? 60.0 : examples < 2600 ? 55.0 : 95.0;
  });
  EXPECT_EQ(at, (std::vector<std::int64_t>{800, 1000, 1200, 1400, 1600, 1800, 2000, 2200, 2400,
                                           2600, 3200, 4000}));
}

TEST(EvaluationPoints, AreThoseOfAResumedRunToo) {
  const EvaluationPoints points = evaluation_points(800, 100, 4000);
  const std::vector<record::Evaluation> evaluations = {{.examples = 0, .metric = 0},
                                                       {.examples = 800, .metric = 50},
                                                       {.examples = 1000, .metric = 55}};
  EXPECT_EQ(next_evaluation(points, kAccuracy, evaluations, 1000), 1200);
  EXPECT_EQ(next_evaluation(points, kAccuracy, evaluations, 1100), 1200);  // from a checkpoint
}

TEST(EvaluationPoints, AreCountedForRoom) {
  const EvaluationPoints points = evaluation_points(800, 100, 4000);
  EXPECT_GE(most_evaluations(points), 20 + 1);
}

}  // namespace
}  // namespace regatta::plan
