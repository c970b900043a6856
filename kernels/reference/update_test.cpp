// SPDX-License-Identifier: Apache-2.0
//
// Optimizer updates compared with steps worked out by hand from the formulas in
// kernels/graph/builder.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/reference/test_support.h"

namespace regatta::reference {
namespace {

using test::expect_near;
using test::leaf;
using Floats = std::vector<float>;

/// A parameter with its slots, updated from a gradient that the test writes before each step.
struct Training {
  Graph graph;
  Builder builder{graph};
  Value gradient;
  VariableId parameter = -1;
  VariableId slot = -1;
  VariableId second_slot = -1;

  explicit Training(Sharing sharing = Sharing::None) {
    gradient = leaf(builder, "gradient", {1});
    parameter = test::add_variable(graph, "parameter", {1}, sharing);
    slot = test::add_variable(graph, "slot", {1});
    second_slot = test::add_variable(graph, "second_slot", {1});
  }

  /// The parameter, initially 1, after a step on each of `gradients`.
  Floats run(const Floats& gradients, const StepContext& start = {}) const {
    Interpreter interpreter(graph, 0, {{"parameter", {1}}});
    StepContext context = start;
    Floats values;
    for (float g : gradients) {
      *interpreter.value(gradient) = g;
      interpreter.run_all(context);
      values.push_back(*interpreter.variable(parameter));
      context.step += 1;
    }
    return values;
  }
};

// g = 0.5 + 0.01 * 1 = 0.51, v = 0.51, w = 1 - 0.1 (0.51 + 0.9 * 0.51) = 0.9031; then
// g = 0.509031, v = 0.459 + g = 0.968031, w = 0.9031 - 0.1 (g + 0.9 v) = 0.76507411.
TEST(Sgd, WithNesterovMomentumFollowsPyTorch) {
  Training training;
  training.builder.sgd(
      training.gradient, training.parameter, training.slot,
      {.rate = Schedule::constant(0.1), .momentum = 0.9, .nesterov = true, .weight_decay = 0.01});
  expect_near(training.run({0.5F, 0.5F}), {0.9031F, 0.76507411F});
}

// v = 1, w = 0.9; v = 0.9 + 1, w = 0.9 - 0.19; v = 0.9 * 1.9 - 2 = -0.29, w = 0.71 + 0.029.
TEST(Sgd, WithPlainMomentumStepsAlongTheVelocity) {
  Training training;
  training.builder.sgd(training.gradient, training.parameter, training.slot,
                       {.rate = Schedule::constant(0.1), .momentum = 0.9});
  expect_near(training.run({1, 1, -2}), {0.9F, 0.71F, 0.739F});
}

TEST(Sgd, WeightMultipliesTheDecayAndNotTheGradient) {
  Training training;
  training.builder.sgd(training.gradient, training.parameter, training.slot,
                       {.rate = Schedule::constant(0.1), .weight_decay = 0.4, .weight = 0.25});
  expect_near(training.run({2}), {1 - 0.1F * (2 + 0.1F)});
}

TEST(Sgd, TakesTheRateAtTheExamplesSeenWhenTheStepBegan) {
  Training training;
  training.builder.sgd(training.gradient, training.parameter, training.slot,
                       {.rate = {.examples = {0, 100}, .values = {0, 0.4}}});
  expect_near(training.run({1}, {.examples = 0}), {1});
  expect_near(training.run({1}, {.examples = 25}), {0.9F});
  expect_near(training.run({1}, {.examples = 500}), {0.6F});
}

TEST(Sgd, CountsUpdatesOfSharedParametersOnly) {
  for (const auto& [sharing, version] :
       {std::pair{Sharing::None, 0U}, {Sharing::Relaxed, 2U}, {Sharing::Locked, 2U}}) {
    Training training(sharing);
    training.builder.sgd(training.gradient, training.parameter, training.slot,
                         {.rate = Schedule::constant(0.1)});
    Interpreter interpreter(training.graph, 0);
    interpreter.run_all({});
    interpreter.run_all({});
    EXPECT_EQ(interpreter.storage(training.parameter).counts->version, version)
        << to_string(sharing);
    EXPECT_EQ(interpreter.storage(training.slot).counts->version, 0U);
  }
}

// t = 1: m^ = 1, v^ = 1, w = 1 - 0.1. t = 2: m = 0.09 - 0.05 = 0.04, m^ = 0.04 / 0.19 = 0.2105263;
// v = 0.000999 + 0.00025 = 0.001249, v^ = 0.001249 / 0.001999 = 0.6248124, its root 0.7904508;
// w = 0.9 - 0.1 * 0.2105263 / 0.7904508 = 0.8733663.
TEST(Adam, CorrectsTheBiasOfItsFirstSteps) {
  Training training;
  training.builder.adam(training.gradient, training.parameter, training.slot, training.second_slot,
                        {.rate = Schedule::constant(0.1)});
  expect_near(training.run({1, -0.5F}), {0.9F, 0.8733663F});
}

TEST(Adam, FirstStepIsTheRateWhateverTheGradient) {
  Training training;
  training.builder.adam(training.gradient, training.parameter, training.slot, training.second_slot,
                        {.rate = Schedule::constant(0.1)});
  expect_near(training.run({1e-3F}), {0.9F}, 1e-5F);
  expect_near(training.run({-1e3F}), {1.1F}, 1e-5F);
}

TEST(Adam, WeightMultipliesTheStep) {
  Training training;
  training.builder.adam(training.gradient, training.parameter, training.slot, training.second_slot,
                        {.rate = Schedule::constant(0.1), .weight = 0.25});
  expect_near(training.run({1, -0.5F}), {0.975F, 0.9683416F});
}

// The gradient is always 1. Three updates by separate loops, each in its step 0, equal three steps
// of one loop: corrected, both moments are 1.
TEST(Adam, CorrectsByTheUpdatesOfAllLoopsThatShareTheParameter) {
  Training training(Sharing::Relaxed);
  training.builder.adam(training.gradient, training.parameter, training.slot, training.second_slot,
                        {.rate = Schedule::constant(0.1)});
  Interpreter interpreter(training.graph, 0, {{"gradient", {1}}, {"parameter", {1}}});
  for (int update = 0; update < 3; ++update) interpreter.run_all({.step = 0});
  EXPECT_NEAR(interpreter.variable(training.parameter)[0], 0.7F, 1e-5F);
}

// p(x) = 3.4445 x - 4.775 x³ + 2.0315 x⁵, five times, makes these numbers of 0.6, 0.8 and 1. The
// first two are the singular values of d / |d| for g = diag(3, 4).
TEST(Muon, AppliesItsPolynomialToTheSingularValuesOfTheDirection) {
  constexpr float kOf06 = 0.7228762F, kOf08 = 1.1192039F, kOf1 = 0.6964364F;
  struct Case {
    test::Dims dims;
    Floats gradient, orthogonal;
  };
  for (const Case& each :
       {Case{{2, 2}, {3, 0, 0, 4}, {kOf06, 0, 0, kOf08}},
        Case{{2, 3}, {0, 0, -3, 4, 0, 0}, {0, 0, -kOf06, kOf08, 0, 0}},
        Case{{3, 2}, {0, 4, 0, 0, 3, 0}, {0, kOf08, 0, 0, kOf06, 0}},
        Case{{2, 2, 1}, {0, -5, 0.1F, 0}, {0, -kOf1, kOf1, 0}}}) {  // two matrices
    Graph graph;
    Builder builder(graph);
    const Value gradient = leaf(builder, "gradient", each.dims);
    const VariableId parameter = test::add_variable(graph, "parameter", each.dims);
    builder.muon(gradient, parameter, test::add_variable(graph, "momentum", each.dims),
                 {.rate = Schedule::constant(0.1), .weight_decay = 0.5, .weight = 0.5});
    Interpreter interpreter(
        graph, 0, {{"gradient", each.gradient}, {"parameter", Floats(each.gradient.size(), 1)}});
    interpreter.run_all({});
    const float scale =
        0.2F * std::sqrt(static_cast<float>(std::max(each.dims.end()[-2], each.dims.back())));
    Floats expected;
    for (const float o : each.orthogonal) expected.push_back(1 - 0.05F * (0.5F + scale * o));
    const float* const found = interpreter.variable(parameter);
    expect_near({found, found + expected.size()}, expected);
  }
}

// Behind g = diag(3, 4), h = diag(0, -4) gives d = 0.05 (1.95 h + 0.9025 g) = 0.05 diag(2.7075,
// -4.19), with the norm 0.05 * 4.988653: 0.5427317 becomes 0.6826429, -0.8399061 -1.0901742.
TEST(Muon, LooksAheadAlongItsMomentum) {
  Graph graph;
  Builder builder(graph);
  const Value gradient = leaf(builder, "gradient", {2, 2});
  const VariableId parameter = test::add_variable(graph, "parameter", {2, 2});
  builder.muon(gradient, parameter, test::add_variable(graph, "momentum", {2, 2}),
               {.rate = {.examples = {0, 1}, .values = {0, 1}}});
  Interpreter interpreter(graph, 0, {{"parameter", {0, 0, 0, 0}}});
  interpreter.set(gradient, Floats{3, 0, 0, 4});
  interpreter.run_all({});
  interpreter.set(gradient, Floats{0, 0, 0, -4});
  interpreter.run_all({.step = 1, .examples = 1});
  const float scale = 0.2F * std::sqrt(2.0F);
  expect_near({interpreter.variable(parameter), interpreter.variable(parameter) + 4},
              {-scale * 0.6826429F, 0, 0, -scale * -1.0901742F});
}

// Sgd subtracts 1 in each step; slow starts at 0. In step 1 (the second) w = -1 and the decay at
// 20 + 10 examples is 0.75: slow = 0 + 0.25 (-1 - 0) = -0.25 = w. Then w = -1.25, -2.25 and
// slow = -0.25 + 0.25 (-2.25 + 0.25) = -0.75.
TEST(Lookahead, RunsOnceAPeriodWithTheDecayAfterTheBatch) {
  Training training;
  training.builder.sgd(training.gradient, training.parameter, training.slot,
                       {.rate = Schedule::constant(1)});
  training.builder.lookahead(training.parameter, training.second_slot,
                             {.period = 2,
                              .global_batch = 10,
                              .decay = {.examples = {20, 30, 40}, .values = {0, 0.75, 0}}});
  expect_near(training.run({1, 1, 1, 1}, {.examples = 20}), {0, -0.25F, -1.25F, -0.75F});
}

// The first step is the run's last and no multiple of the period: w becomes slow.
TEST(Lookahead, EndsWithTheSlowCopy) {
  Training training;
  training.builder.sgd(training.gradient, training.parameter, training.slot,
                       {.rate = Schedule::constant(1)});
  training.builder.lookahead(
      training.parameter, training.second_slot,
      {.period = 5, .global_batch = 10, .total_examples = 30, .decay = Schedule::constant(0.5)});
  expect_near(training.run({1}, {.examples = 20}), {0});
}

}  // namespace
}  // namespace regatta::reference
