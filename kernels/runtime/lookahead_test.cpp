// SPDX-License-Identifier: Apache-2.0
//
// Lookahead under the strategies: in a small normalised network, slow copies of parameters and
// running statistics move in every second step and are taken over after the last of five.
#include <gtest/gtest.h>

#include "kernels/graph/node_steps.h"
#include "strategies/test_support.h"
#include "workloads/data/shapes.h"
#include "workloads/model.h"

namespace regatta {
namespace {

using namespace testing_support;

constexpr std::int64_t kBatch = 48;
constexpr std::int64_t kGroup = 8;
constexpr std::int64_t kSteps = 5;

Step small_network() {
  Augmentation augmentation;
  augmentation.mean = {120, 118, 110};
  augmentation.deviation = {60, 62, 64};
  workloads::Model model(workloads::Mode::Training);
  model.layer("input");
  const auto batch = model.images(kBatch, {ElementType::U8, {32, 32, 3}}, augmentation);
  model.layer("first");
  Value x = model.convolution(batch[0], 8, {.kernel = 3, .stride = 2, .padding = 1});
  x = model.builder().relu(model.normalize(x, {.group = kGroup, .epsilon = 1e-5, .momentum = 0.4}));
  x = model.builder().max_pool(x, {.kernel = 16, .stride = 16, .padding = 0});
  model.layer("head");
  const Value logits =
      model.dense(model.builder().reshape(x, {8}), 10, workloads::fan_in_uniform(8));
  model.layer("loss");
  const Value loss = model.builder().softmax_cross_entropy(
      logits, batch[1], {.label_smoothing = 0, .divisor = kBatch});
  SgdOptions sgd;
  sgd.rate = Schedule::constant(0.1);
  sgd.momentum = 0.9;
  const LookaheadOptions lookahead{.period = 2,
                                   .global_batch = kBatch,
                                   .total_examples = kSteps * kBatch,
                                   .decay = Schedule::constant(0.75)};
  return model.finish_training(loss, {.optimizer = [&](const std::string&) { return sgd; },
                                      .lookahead = lookahead,
                                      .global_batch = kBatch,
                                      .normalization_group = kGroup});
}

const DataSet& shapes() {
  static const DataSet data = workloads::make_shapes(20, workloads::Split::Train, 96);
  return data;
}

Trial run(const std::string& strategy, std::int64_t replicas, std::int64_t stages) {
  TrialOptions options;
  options.strategy = strategy;
  options.options.replicas = replicas;
  options.options.stages = stages;
  options.steps = kSteps;
  return {small_network(), shapes(), options};
}

/// The mean over the variables of this name, weighted by the replicas' shares of the batch.
std::vector<double> mean_of(Trial& trial, const std::string& name,
                            const std::vector<double>& shares) {
  std::vector<double> mean;
  std::size_t copy = 0;
  for (VariableId v = 0; v < static_cast<VariableId>(trial.graph().variables().size()); ++v) {
    if (trial.graph().variable(v).name != name) continue;
    const Tensor& tensor = trial.executor().variable(v).tensor;
    mean.resize(static_cast<std::size_t>(tensor.elements()));
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += shares.at(copy) * static_cast<double>(tensor.f32()[i]);
    }
    ++copy;
  }
  EXPECT_GT(copy, 0U) << name;
  return mean;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected,
                 const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], 1e-4 * (1 + std::abs(expected[i]))) << what;
  }
}

TEST(Lookahead, FollowsSingleUnderEverySynchronousStrategy) {
  Trial single = run("single", 1, 1);
  for (const char* strategy : {"in_graph", "central_storage", "all_reduce", "sharded"}) {
    Trial trial = run(strategy, 4, 1);
    EXPECT_LT(relative_difference(trial.parameters(), single.parameters()), 1e-4) << strategy;
    // 6 groups of 8: two replicas take two groups each, two take one each.
    const std::vector<double> shares{2.0 / 6, 2.0 / 6, 1.0 / 6, 1.0 / 6};
    for (const std::string name : {"first.running_mean", "first.running_variance"}) {
      for (const std::string& which : {name, name + ".slow"}) {
        expect_near(mean_of(trial, which, shares), mean_of(single, which, {1}),
                    std::string(strategy) + ' ' + which);
      }
    }
  }
  Trial stages = run("model_parallel", 1, 2);
  EXPECT_LT(relative_difference(stages.parameters(), single.parameters()), 1e-4);
}

/// Lookahead of statistics, which no loops share, runs together with that of parameters.
TEST(Lookahead, HasStepsOfTheGlobalBatchWhereLoopsShareParameters) {
  const std::pair<const char*, bool> cases[] = {
      {"async_shared", true}, {"ad_psgd", true}, {"all_reduce", false}, {"independent", false}};
  for (const auto& [strategy, steps_apart] : cases) {
    Trial trial = run(strategy, 2, 1);
    std::int64_t found = 0;
    for (const Node& node : trial.graph().nodes()) {
      if (node.op != Op::Lookahead) continue;
      EXPECT_EQ(node_steps(node).loops_step_apart, steps_apart) << strategy << ' ' << node.layer;
      ++found;
    }
    EXPECT_GT(found, 2 * 3) << strategy;
  }
}

TEST(Lookahead, LeavesTheSlowCopyAfterTheLastStep) {
  for (const char* strategy : {"single", "in_graph", "all_reduce"}) {
    const bool one = std::string(strategy) == "single";
    Trial trial = run(strategy, one ? 1 : 2, 1);
    for (const std::string name : {"first.weight", "head.weight", "first.running_mean"}) {
      for (std::size_t copy = 0; copy < (one ? 1U : 2U); ++copy) {
        std::vector<double> only(2);
        only[copy] = 1;
        EXPECT_EQ(mean_of(trial, name, only), mean_of(trial, name + ".slow", only))
            << strategy << ' ' << name;
      }
    }
  }
}

}  // namespace
}  // namespace regatta
