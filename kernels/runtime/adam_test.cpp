// SPDX-License-Identifier: Apache-2.0
//
// Adam under the strategies, on a network of the parabola's size: synchronous ones follow `single`,
// asynchronous ones share both moments with the parameter.
//
// The bound: Adam divides by the size of the gradient, so a rounding error of a small gradient
// becomes one of the step, 2^-23 of the rate or a few times that, added up over 20 steps of weights
// around 1. An average by workers instead of by examples would not show in a step of the rate's
// size; the equivalence of sgd covers that.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "strategies/curve_by_adam_for_test.h"
#include "strategies/test_support.h"

namespace regatta {
namespace {

using testing_support::curve_by_adam;
using testing_support::data_of;
using testing_support::relative_difference;
using testing_support::Trial;
using testing_support::TrialOptions;

constexpr std::int64_t kPoints = 50;

TrialOptions options_of(const std::string& strategy, std::int64_t replicas, std::int64_t steps) {
  TrialOptions options;
  options.strategy = strategy;
  options.options.replicas = replicas;
  options.steps = steps;
  return options;
}

class Adam : public testing::TestWithParam<std::string> {};

TEST_P(Adam, FollowsSingle) {
  Trial single(curve_by_adam(kPoints), data_of("parabola"), options_of("single", 1, 20));
  for (std::int64_t replicas : {2, 3, 5}) {
    Trial run(curve_by_adam(kPoints), data_of("parabola"), options_of(GetParam(), replicas, 20));
    EXPECT_LT(relative_difference(run.parameters(), single.parameters()), 1e-5) << replicas;
  }
}

INSTANTIATE_TEST_SUITE_P(Under, Adam,
                         testing::Values("in_graph", "central_storage", "all_reduce", "sharded"),
                         [](const auto& test) { return test.param; });

class SharedAdam : public testing::TestWithParam<Sharing> {};

TEST_P(SharedAdam, LearnsTheCurveWithSharedMoments) {
  TrialOptions options = options_of("async_shared", 2, 2000);
  options.options.given["sharing"] = GetParam() == Sharing::Locked ? "locked" : "relaxed";
  Trial run(curve_by_adam(kPoints), data_of("parabola"), options);
  for (const Variable& variable : run.graph().variables()) {
    EXPECT_EQ(variable.sharing, GetParam()) << variable.name;
  }
  const auto loops = run.executor().loops();
  // On a busy machine one worker may do nearly all steps, or all, before the other begins.
  const LoopReport& busier = loops[0].steps > loops[1].steps ? loops[0] : loops[1];
  float first = 0;
  for (const LoopReport& loop : loops) {
    if (!loop.losses.empty()) first = std::max(first, loop.losses.front());
  }
  EXPECT_LT(busier.losses.back(), first / 4);
}

TEST(AsynchronousAdam, WeighsAPushByItsShareOfTheBatch) {
  strategies::StrategyOptions options;
  options.replicas = 3;
  const Step step = strategies::apply(strategies::find_strategies("async_shared"),
                                      curve_by_adam(kPoints), options);
  double sum = 0;
  for (const Node& node : step.graph.nodes()) {
    if (node.op == Op::Adam) sum += node.attributes.real("weight");
  }
  EXPECT_NEAR(sum, 4.0, 1e-12);  // four parameters, each 17/50 + 17/50 + 16/50
}

INSTANTIATE_TEST_SUITE_P(Sharing, SharedAdam, testing::Values(Sharing::Relaxed, Sharing::Locked),
                         [](const auto& test) { return std::string(to_string(test.param)); });

}  // namespace
}  // namespace regatta
