// SPDX-License-Identifier: Apache-2.0
//
// A step with microbatches, under every strategy: it computes the same as without, in less memory.
// pipeline_test.cpp compares its bits with those of a pipeline.
#include "strategies/microbatches.h"

#include <gtest/gtest.h>

#include "kernels/base/error_for_test.h"
#include "kernels/cpu/lacks_for_test.h"
#include "kernels/runtime/memory_plan.h"
#include "strategies/chain_for_test.h"
#include "strategies/equivalence_for_test.h"
#include "strategies/rewritten_for_test.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;

StrategyOptions options_of(std::int64_t microbatches, std::int64_t replicas = 1) {
  StrategyOptions options = testing_support::replicas(replicas);
  options.given = {{"microbatches", microbatches}};
  return options;
}

TEST(Microbatches, AddUpEachWorkersGradientsBeforeTheyAreExchangedAndApplied) {
  const Step whole = rewritten("all_reduce", testing_support::replicas(2));
  const Step step = rewritten("all_reduce", options_of(3, 2));
  EXPECT_EQ(count(step.graph, Op::DenseBackwardWeights), 2 * 2 * 3);
  EXPECT_EQ(count(step.graph, Op::Sum), 2 * (4 + 1) * 2);  // of four gradients and the loss
  for (const Op once : {Op::Input, Op::Read, Op::AllReduce, Op::Sgd}) {
    EXPECT_EQ(count(step.graph, once), count(whole.graph, once)) << to_string(once);
  }
  EXPECT_EQ(bytes_per_step(testing_support::part(step), 1),
            bytes_per_step(testing_support::part(whole), 1));
}

TEST(Microbatches, FollowEachOther) {
  const Step step = rewritten("single", options_of(3));
  std::string order;
  for (const Node& node : step.graph.nodes()) {
    if (node.op == Op::Tanh || node.op == Op::TanhBackward || node.op == Op::Sgd) {
      order += std::string(to_string(node.op)) + std::to_string(step.graph.type({0, 0}).dim(0)) +
               (node.op == Op::Sgd ? "" : "." + std::to_string(node.outputs[0].dim(0))) + ' ';
    }
  }
  EXPECT_EQ(order,
            "tanh50.17 tanh_backward50.17 tanh50.17 tanh_backward50.17 tanh50.16 "
            "tanh_backward50.16 sgd50 sgd50 sgd50 sgd50 ");
}

TEST(Microbatches, AreAsManyAsTheSmallestShareAllows) {
  const auto why = [](const char* strategy, std::int64_t microbatches) {
    return error_of([&] { rewritten(strategy, options_of(microbatches, 3)); });
  };
  for (const char* strategy : {"all_reduce", "in_graph", "parameter_server"}) {
    EXPECT_EQ(why(strategy, 17),
              "--microbatches 17 of a share of 16 examples in normalisation groups of 1; 1 to 16 "
              "are possible");
    EXPECT_EQ(why(strategy, 16), "");
  }
}

class WithMicrobatches : public testing::TestWithParam<Case> {};

/// Not `single`: replicas may train alone or exchange approximations, at the same bits each time.
TEST_P(WithMicrobatches, FollowsTheSameStrategyWithout) {
  const Case& test = GetParam();
  if (const std::string why = cpu::why_cpu_lacks(test.element); !why.empty()) GTEST_SKIP() << why;
  Case without = test;
  without.options.erase("microbatches");
  const Deviation found = deviation(result_of(test), result_of(without),
                                    testing_support::first_parameters(step_of(test)));
  EXPECT_LT(found.losses, bounds_of(test).losses);
  EXPECT_LT(found.parameters, bounds_of(test).parameters);
  const auto losses = [](const Case& each) {
    const StrategyOptions options = testing_support::options_of(each).options;
    const Graph graph = apply(find_strategies(each.strategy), step_of(each), options).graph;
    return count(graph, Op::MeanSquaredError) + count(graph, Op::SoftmaxCrossEntropy);
  };
  EXPECT_EQ(losses(test),
            std::get<std::int64_t>(test.options.at("microbatches")) * losses(without));
}

/// Shares of 11 are 4, 4 and 3 sequences, of 49 are 17, 16 and 16 points: microbatches are uneven.
/// Several workers of an asynchronous strategy differ from run to run.
std::vector<Case> cases() {
  const std::string of_points = "{parabola,parabola_clipped} 49 ";
  const std::vector<std::string> strategies = {
      "all_reduce 3", "all_reduce+model_parallel 2x2", "parameter_server 3 servers=2",
      "sharded 3 shard={optimizer,gradients,parameters} bucket_bytes=1000"};
  const std::vector<std::string> others = {"{in_graph,central_storage,local_sgd,independent} 3",
                                           "sharded+model_parallel 3x2",
                                           "diloco 3 sync_every=2 delay=1",
                                           "gossip 3 overlap={0,1}",
                                           "{async_shared,parameter_server_async,ad_psgd}",
                                           "tensor_parallel 1x1x2",
                                           "all_reduce+tensor_parallel 2x1x2",
                                           "all_reduce+powersgd 3"};
  std::vector<Case> all;
  for (const auto& [begin, microbatches] :
       {std::pair(of_points, " microbatches=5"),
        std::pair(std::string("gpt_narrow 11 "), " microbatches=3"),
        std::pair(std::string("resnet9_thin 80 "), " microbatches=2")}) {
    const bool is_images = begin.starts_with("resnet9");
    for (const auto& list : {strategies, is_images ? std::vector<std::string>() : others}) {
      for (const std::string& each : list) append(cases_of(begin, {each + microbatches}), all);
    }
  }
  append(cases_of("", {of_points + "single microbatches=5",
                       "{gpt_narrow 11,resnet9_thin 80} single microbatches=3",
                       "gpt_narrow 11 sharded 3 shard={optimizer,parameters} microbatches=3 bf16"}),
         all);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Strategies, WithMicrobatches, testing::ValuesIn(cases()),
                         [](const auto& test) { return name_of(test.param); });

std::int64_t planned(const Step& built, const char* strategy, const StrategyOptions& options) {
  const Step placed = apply(find_strategies(strategy), built, options);
  const Step part = partitioned(placed, Binding{}).front();
  const Plan plan(part, PlanOptions{});
  return planned_memory(part.graph, plan, plan_memory(part.graph, plan)).at(Place{}).sum();
}

TEST(MicrobatchMemory, IsThatOfOneMicrobatchAndOfTheGradientsOnce) {
  constexpr std::int64_t kWidth = 256, kRows = 2048;
  const std::int64_t layer = kRows * kWidth * std::int64_t{sizeof(float)};  // 2 MiB of activations
  const std::int64_t gradients = 8 * kWidth * kWidth * std::int64_t{sizeof(float)};
  const Step step = testing_support::chain(kWidth, kRows);
  for (const char* strategy : {"single", "all_reduce", "sharded"}) {
    const std::int64_t whole = planned(step, strategy, testing_support::replicas(1));
    std::int64_t last = whole;
    for (const std::int64_t m : {2, 4, 16}) {
      const std::int64_t now = planned(step, strategy, options_of(m));
      EXPECT_LT(now, last) << strategy << ' ' << m;
      // Activations of 8 layers, of which one microbatch is alive.
      EXPECT_LT(now, whole - 8 * layer + 9 * layer / m + 5 * gradients / 4) << strategy << ' ' << m;
      last = now;
    }
  }
}

/// Each pass of each microbatch gathers the parameters, which are freed behind it.
TEST(MicrobatchMemory, OfSharedParametersIsLessThanWhereTheyStay) {
  const Step step = testing_support::chain(256, 512);
  const auto of = [&](const char* shard) {
    StrategyOptions options = options_of(4, 2);
    options.given["shard"] = shard;
    options.given["bucket_bytes"] = std::int64_t{1 << 16};
    return planned(step, "sharded", options);
  };
  constexpr std::int64_t kParameters = 8 * 256 * 256 * std::int64_t{sizeof(float)};
  EXPECT_LT(of("parameters"), of("gradients") - kParameters / 3);
}

}  // namespace
}  // namespace regatta::strategies
