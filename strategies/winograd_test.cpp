// SPDX-License-Identifier: Apache-2.0
//
// by_winograd() on the workloads' steps: which of them it changes, that a step with Winograd's
// algorithm follows the direct one within its larger rounding
// (kernels/cpu/convolution_winograd_test.cpp), and that it may be divided among replicas like any
// other.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/rewrite/winograd.h"
#include "strategies/test_support.h"

namespace regatta::strategies {
namespace {

using testing_support::data_of;
using testing_support::relative_difference;
using testing_support::training_of;
using testing_support::Trial;
using testing_support::TrialOptions;

constexpr std::int64_t kSteps = 4;
constexpr std::int64_t kRecipeSteps = 2328;
// Eight times the bound for fusing the same steps (fusion_test.cpp), as its errors are.
constexpr double kBound = 8 * 2e-4;

std::int64_t marked_nodes(const Step& step) {
  const auto& nodes = step.graph.nodes();
  return std::count_if(nodes.begin(), nodes.end(), is_by_winograd);
}

std::int64_t marked_of(const std::string& workload) {
  return marked_nodes(by_winograd(training_of(workload, 512, kRecipeSteps)));
}

TEST(Winograd, IsForWorkloadsOfWideWindows) {
  EXPECT_EQ(marked_of("resnet9"), 3 * 7);
  EXPECT_EQ(marked_of("resnet9_thin"), 3 * 7);
  EXPECT_EQ(marked_of("airbench94"), 3 * 6);
  for (const char* workload : {"mobilenet_v2", "mobilenet_v2_full"}) {
    EXPECT_EQ(marked_of(workload), 0) << workload;
  }
  EXPECT_EQ(marked_nodes(by_winograd(training_of("parabola", 50, kRecipeSteps))), 0);
}

Trial run(const Step& step, const std::string& strategy, std::int64_t replicas) {
  TrialOptions options;
  options.strategy = strategy;
  options.options.replicas = replicas;
  options.steps = kSteps;
  return {step, data_of("resnet9_thin"), options};
}

void expect_follows(Trial& actual, Trial& expected, const std::string& what) {
  const std::vector<float> losses = actual.losses(), wanted = expected.losses();
  ASSERT_EQ(losses.size(), static_cast<std::size_t>(kSteps)) << what;
  for (std::size_t k = 0; k < losses.size(); ++k) {
    EXPECT_NEAR(losses[k], wanted[k], kBound * std::abs(wanted[k])) << what << ", step " << k;
  }
  const double difference = relative_difference(actual.parameters(), expected.parameters());
  EXPECT_LT(difference, kBound) << what;
  EXPECT_GT(difference, 0) << what << ": by the same way";
}

TEST(Winograd, FollowsDirectConvolutionsAndLetsStrategiesDealOutTheBatch) {
  const Step direct = training_of("resnet9_thin", 80, kRecipeSteps);
  const Step step = by_winograd(direct);
  ASSERT_EQ(marked_nodes(step), 3 * 7);
  Trial by_direct = run(direct, "single", 1), single = run(step, "single", 1);
  expect_follows(single, by_direct, "single");
  for (const char* strategy : {"in_graph", "all_reduce"}) {  // uneven shares of five groups
    Trial dealt = run(step, strategy, 3);
    expect_follows(dealt, single, strategy);
  }
}

}  // namespace
}  // namespace regatta::strategies
