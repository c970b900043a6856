// SPDX-License-Identifier: Apache-2.0
//
// A step with microbatches, under every strategy: it computes the same as without, in less memory.
// pipeline_test.cpp compares its bits with those of a pipeline, drift_test.cpp plants a fault.
#include "strategies/microbatches.h"

#include <gtest/gtest.h>

#include <iostream>
#include <limits>
#include <map>

#include "kernels/cpu/lacks_for_test.h"
#include "kernels/rewrite/fuse.h"
#include "kernels/runtime/memory_plan.h"
#include "strategies/chain_for_test.h"
#include "strategies/equivalence_for_test.h"
#include "strategies/rewritten_for_test.h"

namespace regatta::strategies {
namespace {

using testing_support::Case;
using testing_support::count;
using testing_support::Deviation;
using testing_support::result_of;
using testing_support::rewritten;

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
    try {
      rewritten(strategy, options_of(microbatches, 3));
    } catch (const RunError& error) {
      return std::string(error.what());
    }
    return std::string();
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
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& [workload, batch] : std::map<std::string, std::int64_t>{
           {"parabola", 49}, {"parabola_clipped", 49}, {"gpt_narrow", 11}, {"resnet9_thin", 80}}) {
    const std::int64_t microbatches = workload.starts_with("parabola") ? 5 : 3;
    const auto add = [&](const char* strategy, std::int64_t replicas, std::int64_t parts,
                         OptionValues options = {}) {
      const bool shards = std::string(strategy).ends_with("tensor_parallel");
      options["microbatches"] = workload == "resnet9_thin" && replicas > 1 ? 2 : microbatches;
      all.push_back({.workload = workload,
                     .strategy = strategy,
                     .replicas = replicas,
                     .stages = shards ? 1 : parts,
                     .shards = shards ? parts : 1,
                     .global_batch = batch,
                     .options = options});
    };
    add("single", 1, 1);
    add("all_reduce", 3, 1);
    add("all_reduce+model_parallel", 2, 2);
    add("parameter_server", 3, 1, {{"servers", 2}});
    for (const char* shard : {"optimizer", "gradients", "parameters"}) {
      add("sharded", 3, 1, {{"shard", shard}, {"bucket_bytes", 1000}});
    }
    if (workload == "resnet9_thin")
      continue;  // the other strategies have no more to do with images
    for (const char* strategy :
         {"in_graph", "central_storage", "local_sgd", "independent", "sharded+model_parallel"}) {
      add(strategy, 3, std::string(strategy).find('+') != std::string::npos ? 2 : 1);
    }
    add("diloco", 3, 1, {{"sync_every", 2}, {"delay", 1}});
    for (const std::int64_t overlap : {0, 1}) add("gossip", 3, 1, {{"overlap", overlap}});
    for (const char* strategy : {"async_shared", "parameter_server_async", "ad_psgd"}) {
      add(strategy, 1, 1);  // several workers differ from run to run
    }
    add("tensor_parallel", 1, 2);
    add("all_reduce+tensor_parallel", 2, 2);
    add("all_reduce+powersgd", 3, 1);
  }
  for (const char* shard : {"optimizer", "parameters"}) {
    all.push_back({.workload = "gpt_narrow",
                   .strategy = "sharded",
                   .replicas = 3,
                   .global_batch = 11,
                   .element = ElementType::BF16,
                   .options = {{"shard", shard}, {"microbatches", 3}}});
  }
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

TEST(MicrobatchMemory, OfTheWorkloads) {
  for (const char* workload : {"gpt_thin", "resnet9_thin"}) {
    const bool language = testing_support::is_language(workload);
    const Step step = fuse(testing_support::training_of(workload, language ? 48 : 256, 100));
    std::cout << workload << ", KB of a worker of two, by microbatches:";
    std::int64_t last = std::numeric_limits<std::int64_t>::max();
    for (const std::int64_t m : {1, 2, 4, 8}) {
      const std::int64_t now = planned(step, "all_reduce", options_of(m, 2));
      std::cout << ' ' << m << ": " << now / 1000;
      EXPECT_LT(now, last) << workload << ' ' << m;
      last = now;
    }
    std::cout << '\n';
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
