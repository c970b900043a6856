// SPDX-License-Identifier: Apache-2.0
//
// fuse() and by_winograd() on the workloads' steps: the ops that remain, that the step follows the
// original one, and that it may be divided among replicas and stages like any other. Fusing changes
// roundings like another order of additions; Winograd's algorithm has larger roundings
// (kernels/cpu/convolution_winograd_test.cpp).
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cpu/lacks_for_test.h"
#include "kernels/rewrite/fuse.h"
#include "kernels/rewrite/winograd.h"
#include "strategies/test_support.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;

constexpr std::int64_t kSteps = 4;

struct Case {
  std::string workload;
  ElementType element = ElementType::F32;
  std::int64_t global_batch = 0;
  double bound = 0;
};

const Case kCases[] = {{"resnet9_thin", ElementType::F32, 80, 2e-4},
                       {"resnet9_thin", ElementType::BF16, 80, 8e-3},
                       {"airbench94_narrow", ElementType::BF16, 64, 8e-3}};

workloads::Recipe recipe_of(const Case& test) {
  workloads::Recipe recipe;
  recipe.global_batch = recipe.evaluation_batch = test.global_batch;
  recipe.train_examples = data_of(test.workload).count;
  recipe.total_examples = 2328 * test.global_batch;
  recipe.element = test.element;
  recipe.data_weights =
      workloads::data_weights_of(workload_of(test.workload), data_of(test.workload));
  return recipe;
}

Step training(const Case& test) { return workload_of(test.workload).training(recipe_of(test)); }

Trial run(const Step& step, const std::string& strategy, std::int64_t replicas,
          std::int64_t stages) {
  TrialOptions options;
  options.strategy = strategy;
  options.options.replicas = replicas;
  options.options.stages = stages;
  options.steps = kSteps;
  return {step, data_of("resnet9_thin"), options};
}

void expect_follows(Trial& actual, Trial& expected, double bound, const std::string& what) {
  const std::vector<float> losses = actual.losses(), wanted = expected.losses();
  ASSERT_EQ(losses.size(), static_cast<std::size_t>(kSteps)) << what;
  for (std::size_t k = 0; k < losses.size(); ++k) {
    EXPECT_NEAR(losses[k], wanted[k], bound * std::abs(wanted[k])) << what << ", step " << k;
  }
  EXPECT_LT(relative_difference(actual.parameters(), expected.parameters()), bound) << what;
}

std::int64_t count(const Step& step, Op op) {
  const auto& nodes = step.graph.nodes();
  return std::count_if(nodes.begin(), nodes.end(), [op](const Node& n) { return n.op == op; });
}

TEST(Fusion, LeavesNoNormalizationNorActivationOfAirbenchAlone) {
  const Case& test = kCases[2];
  for (const Step& step :
       {fuse(training(test)), fuse(workload_of(test.workload).evaluation(recipe_of(test)))}) {
    for (Op gone : {Op::Normalize, Op::NormalizeInference, Op::NormalizeBackward, Op::Gelu,
                    Op::GeluBackward, Op::MaxPool, Op::MaxPoolBackward, Op::Bias}) {
      EXPECT_EQ(count(step, gone), 0) << to_string(gone);
    }
  }
  const Step step = fuse(training(test));
  EXPECT_EQ(count(step, Op::FusedNormalize), 6);
  EXPECT_EQ(count(step, Op::FusedNormalizeBackward), 6);
  EXPECT_EQ(count(step, Op::FusedBias), 1);
  EXPECT_EQ(count(step, Op::FusedBiasBackward), 1);
}

class Fused : public testing::TestWithParam<Case> {};

TEST_P(Fused, FollowsTheStepItCameFrom) {
  const Case& test = GetParam();
  if (const std::string why = cpu::why_cpu_lacks(test.element); !why.empty()) GTEST_SKIP() << why;
  Trial single = run(training(test), "single", 1, 1);
  Trial fused = run(fuse(training(test)), "single", 1, 1);
  expect_follows(fused, single, test.bound, test.workload);
}

TEST_P(Fused, LetsStrategiesDealOutTheBatchAndTheLayers) {
  const Case& test = GetParam();
  if (const std::string why = cpu::why_cpu_lacks(test.element); !why.empty()) GTEST_SKIP() << why;
  const Step step = fuse(training(test));
  Trial single = run(step, "single", 1, 1);
  // Uneven shares of resnet9_thin's 10 groups; one of airbench94_narrow's 2 groups each.
  const std::int64_t replicas = test.workload == "airbench94_narrow" ? 2 : 3;
  for (const char* strategy : {"in_graph", "all_reduce"}) {
    Trial dealt = run(step, strategy, replicas, 1);
    expect_follows(dealt, single, test.bound, test.workload + " by " + strategy);
  }
  Trial staged = run(step, "model_parallel", 1, 3);
  expect_follows(staged, single, test.bound, test.workload + " by model_parallel");
}

INSTANTIATE_TEST_SUITE_P(Images, Fused, testing::ValuesIn(kCases), [](const auto& test) {
  return test.param.workload + "_" + std::string(to_string(test.param.element));
});

std::int64_t marked_nodes(const std::string& workload, std::int64_t batch = 512) {
  const Step step = by_winograd(training_of(workload, batch, 2328));
  const auto& nodes = step.graph.nodes();
  return std::count_if(nodes.begin(), nodes.end(), is_by_winograd);
}

TEST(Winograd, IsForWorkloadsOfWideWindows) {
  EXPECT_EQ(marked_nodes("resnet9"), 3 * 7);
  EXPECT_EQ(marked_nodes("resnet9_thin"), 3 * 7);
  EXPECT_EQ(marked_nodes("airbench94"), 3 * 6);
  for (const char* workload : {"mobilenet_v2", "mobilenet_v2_full"}) {
    EXPECT_EQ(marked_nodes(workload), 0) << workload;
  }
  EXPECT_EQ(marked_nodes("parabola", 50), 0);
}

TEST(Winograd, FollowsDirectConvolutionsAndLetsStrategiesDealOutTheBatch) {
  const double bound = 8 * kCases[0].bound;  // eight times that for fusing, as its errors are
  const Step direct = training_of("resnet9_thin", 80, 2328), step = by_winograd(direct);
  Trial by_direct = run(direct, "single", 1, 1), single = run(step, "single", 1, 1);
  expect_follows(single, by_direct, bound, "single");
  EXPECT_GT(relative_difference(single.parameters(), by_direct.parameters()), 0) << "the same way";
  for (const char* strategy : {"in_graph", "all_reduce"}) {  // uneven shares of five groups
    Trial dealt = run(step, strategy, 3, 1);
    expect_follows(dealt, single, bound, strategy);
  }
}

}  // namespace
}  // namespace regatta::strategies
