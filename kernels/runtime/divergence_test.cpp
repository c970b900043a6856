// SPDX-License-Identifier: Apache-2.0
//
// Tests that a run ends at the first value that is not finite and names it: a loss, a gradient
// under a finite loss, a variable.
#include <gtest/gtest.h>

#include <limits>

#include "kernels/base/error_for_test.h"
#include "kernels/runtime/executor.h"
#include "kernels/runtime/guard/finite.h"
#include "kernels/runtime/test_support.h"
#include "strategies/chain_for_test.h"
#include "strategies/equivalence_for_test.h"

namespace regatta {
namespace {

using namespace testing_support;

TEST(Executor, NamesStepAndFirstTensorWhenTheLossIsNotFinite) {
  DataSet broken = curve();
  broken.targets.as<float>()[7] = 3e38F;  // its square is not finite
  TrialOptions options;
  const std::string error =
      error_of([&] { Trial run(parabola(20), broken, options); }, ErrorKind::Diverged);
  EXPECT_EQ(error,
            "the loss is not finite at step 0 on replica0; the first tensor that is not finite: "
            "the output of mean_squared_error in layer loss");
}

/// An infinite point: the hidden units saturate, so the loss is finite, and the gradient of their
/// weights is 0 times infinity.
DataSet curve_with_an_infinite_point(std::size_t at) {
  DataSet broken = curve();
  broken.inputs.as<float>()[at] = std::numeric_limits<float>::infinity();
  return broken;
}

TEST(Executor, NamesTheReplicaWhoseGradientIsNotFiniteThoughItsLossIs) {
  const DataSet broken = curve_with_an_infinite_point(49);  // in the last replica's share
  for (const char* strategy :
       {"single", "all_reduce", "sharded", "in_graph", "central_storage", "async_shared", "ad_psgd",
        "parameter_server", "parameter_server_async"}) {
    TrialOptions options;
    options.strategy = strategy;
    options.options.replicas = std::string(strategy) == "single" ? 1 : 3;
    options.steps = 200'000;  // enough for every asynchronous replica to get its turn
    const std::string place = std::string(strategy) == "single" ? "replica0" : "replica2";
    const std::string error =
        error_of([&] { Trial run(parabola(200'000), broken, options); }, ErrorKind::Diverged);
    EXPECT_EQ(error, "a gradient is not finite at step 0 on " + place +
                         ": the output of dense_backward_weights in layer hidden")
        << strategy;
  }
}

TEST(Executor, LetsNoGradientThatIsNotFiniteSpread) {
  const DataSet broken = curve_with_an_infinite_point(49);
  for (const char* strategy : {"all_reduce", "sharded", "in_graph", "async_shared", "ad_psgd"}) {
    TrialOptions options;
    options.strategy = strategy;
    options.options.replicas = 3;
    options.steps = 0;
    options.most_steps = 200'000;
    Trial run(parabola(20), broken, options);
    EXPECT_THROW(run.executor().run(options.most_steps * 50), RunError) << strategy;
    for (VariableId v = 0; v < std::ssize(run.graph().variables()); ++v) {
      EXPECT_TRUE(all_finite(run.executor().variable(v).tensor))
          << strategy << ": " << run.graph().variable(v).name;
    }
  }
}

/// One microbatch has a point so far off that its prediction is finite but the prediction's square
/// is not. When the sum of all losses is known, the memory of the first microbatches has been
/// reused; each is diagnosed from the values that the last stage received for it.
TEST(Executor, NamesTheFirstTensorOfAnyMicrobatch) {
  constexpr std::int64_t kRows = 64, kMicrobatches = 6;
  for (const char* schedule : {"gpipe", "1f1b", "zero_bubble"}) {
    for (std::int64_t k = 0; k < kMicrobatches; ++k) {
      const std::vector<float> ones(kRows * kMicrobatches, 1);
      DataSet far{
          .name = "far", .count = std::ssize(ones), .inputs = {{1}, ones}, .targets = {{1}, ones}};
      far.inputs.as<float>()[static_cast<std::size_t>(k * kRows + 5)] = 1e30F;
      TrialOptions options = trial_of("pipeline 1x3");
      options.options.given = {{"schedule", std::string(schedule)},
                               {"microbatches", kMicrobatches}};
      const std::string error =
          error_of([&] { Trial run(testing_support::chain(128, far.count), far, options); });
      EXPECT_EQ(error,
                "the loss is not finite at step 0 on replica0.stage2; the first tensor that is "
                "not finite: the output of mean_squared_error in layer loss")
          << schedule << ", microbatch " << k;
    }
  }
}

TEST(Executor, NamesTheVariableThatDiverged) {
  Step wild = parabola(20);
  Graph graph;
  graph.copy_variables_of(wild.graph);
  for (Node node : wild.graph.nodes()) {
    if (node.op == Op::Sgd) node.attributes.set("schedule_values", std::vector<double>{1e30});
    graph.add(node);
  }
  wild.graph = graph;
  TrialOptions options;
  const std::string error = error_of([&] { Trial run(wild, curve(), options); });
  EXPECT_NE(error.find("the first tensor that is not finite: "), std::string::npos);
  EXPECT_NE(error.find("at step 1"), std::string::npos) << error;
}

}  // namespace
}  // namespace regatta
