// SPDX-License-Identifier: Apache-2.0
//
// A step with recomputation, under every kind of strategy: the bits of the step without, in less
// memory.
#include "strategies/recompute.h"

#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "kernels/base/error_for_test.h"
#include "kernels/cpu/lacks_for_test.h"
#include "kernels/rewrite/fuse.h"
#include "kernels/runtime/memory_plan.h"
#include "strategies/equivalence_for_test.h"
#include "strategies/rewritten_for_test.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;

StrategyOptions options_of(const std::string& which, std::int64_t microbatches = 1) {
  StrategyOptions options;
  options.given = {{"recompute", which}, {"microbatches", microbatches}};
  return options;
}

Step placed(const Step& step, const char* strategy, const StrategyOptions& options) {
  return apply(find_strategies(strategy), step, options);
}

TEST(Recompute, PutsCopiesBeforeTheFirstBackwardNodeThatNeedsThem) {
  const Step step = placed(training_of("gpt_narrow", 4, 100), "single", options_of("full"));
  std::string order;
  for (const Node& node : step.graph.nodes()) {
    if (node.phase != Phase::Backward || node.layer.find("layer0") == node.layer.npos) continue;
    const bool is_copy = forward_of(node.op) == node.op && node.op != Op::Sum;
    order += (is_copy ? "again:" : "") + std::string(to_string(node.op)) + ' ';
    if (node.op == Op::GeluBackward) break;
  }
  EXPECT_EQ(order,
            "again:layer_normalize again:dense again:gelu dense_backward_weights "
            "dense_backward_data gelu_backward ");
}

TEST(Recompute, OfNormalisationLeavesRunningStatisticsAlone) {
  const Step built = fuse(training_of("resnet9_thin", 80, 100));
  const auto assigning = [](const Step& step) {
    std::int64_t nodes = 0;
    for (const Node& node : step.graph.nodes()) {
      nodes += op_info(node.op).assigns && !node.variables.empty() ? 1 : 0;
    }
    return nodes;
  };
  for (const char* which : {"selective", "full"}) {
    const Step step = placed(built, "single", options_of(which));
    EXPECT_GT(count(step.graph, Op::FusedNormalize), count(built.graph, Op::FusedNormalize));
    EXPECT_EQ(assigning(step), assigning(built)) << which;
  }
}

/// Blocks are smaller than a bucket: the last part of a larger one does not stay for its backward
/// pass, which begins with the recomputation of its first part.
TEST(Recompute, SendsNothingAgain) {
  const auto sent = [](const Step& built, const char* strategy, StrategyOptions options) {
    options.replicas = options.stages = 2;
    options.shards = 2;
    return bytes_per_step(testing_support::part(placed(built, strategy, options)), 1);
  };
  const Step built = training_of("gpt_narrow", 8, 100);
  for (const char* strategy : {"all_reduce+tensor_parallel", "all_reduce+pipeline", "sharded",
                               "all_reduce+pipeline+tensor_parallel"}) {
    for (const char* which : {"selective", "full"}) {
      StrategyOptions with = options_of(which, 2), without = options_of("none", 2);
      if (std::string(strategy) == "sharded") {
        with.given["shard"] = without.given["shard"] = "parameters";
      }
      // For both microbatches the positions, which backward reads only to recompute.
      const double positions = std::string(strategy) == "sharded" ? 2 * 4 * 8 * 24 : 0;
      EXPECT_LE(sent(built, strategy, with), sent(built, strategy, without) + positions)
          << strategy << which;
    }
  }
}

TEST(Recompute, IsRefusedWhereThereIsNothingToGain) {
  const Step step = testing_support::parabola();
  EXPECT_NO_THROW(placed(step, "single", options_of("none")));
  const std::string error =
      error_of([&] { placed(step, "single", options_of("full")); }, ErrorKind::Usage);
  EXPECT_EQ(error,
            "--recompute: no activation of this model can be recomputed to save memory; leave "
            "it out");
}

class WithRecomputation : public testing::TestWithParam<Case> {};

struct Outcome {
  std::vector<float> losses;
  std::vector<std::vector<float>> variables;  ///< also slots and running statistics
  std::int64_t nodes = 0;
};

Outcome outcome_of(const Case& test) {
  Trial run(fuse(step_of(test)), data_of(test.workload), testing_support::options_of(test));
  Outcome outcome{
      .losses = run.losses(), .variables = {}, .nodes = std::ssize(run.graph().nodes())};
  for (VariableId v = 0; v < std::ssize(run.graph().variables()); ++v) {
    const Tensor& tensor = run.executor().variable(v).tensor;
    outcome.variables.emplace_back(tensor.f32(), tensor.f32() + tensor.elements());
  }
  return outcome;
}

TEST_P(WithRecomputation, HasTheBitsOfTheStepWithout) {
  Case test = GetParam();
  if (const std::string why = cpu::why_cpu_lacks(test.element); !why.empty()) GTEST_SKIP() << why;
  const Outcome without = outcome_of(test);
  for (const char* which : {"selective", "full"}) {
    test.options["recompute"] = which;
    const Outcome with = outcome_of(test);
    EXPECT_GT(with.nodes, without.nodes) << which;
    EXPECT_EQ(with.losses, without.losses) << which;
    EXPECT_TRUE(with.variables == without.variables) << which;
  }
}

/// Several workers of an asynchronous strategy differ from run to run; other strategies than these
/// have no more to do with images.
std::vector<Case> cases() {
  std::vector<Case> all = cases_of(
      "{gpt_narrow 11,llama_narrow 12,resnet9_thin 80,mobilenet_v2_narrow 32,airbench94_narrow "
      "128}",
      {" single steps=3{, bf16, microbatches=3}"});
  append(cases_of("{gpt_narrow 11,resnet9_thin 80} ",
                  {"all_reduce {2,3} steps=3", "all_reduce 2 microbatches=2 bf16 steps=3",
                   "tensor_parallel 1x1x2 steps=3",
                   "sharded 3 shard=parameters bucket_bytes=1000 steps=3",
                   "pipeline 1x2 schedule=1f1b microbatches=4 steps=3"}),
         all);
  append(
      cases_of(
          "gpt_narrow 11 ",
          {"tensor_parallel 1x1x2 sequence_parallel=yes steps=3", "context_parallel 1x1x2 steps=3",
           "sharded 3 shard={optimizer,gradients} bucket_bytes=1000 steps=3",
           "sharded 2 shard=parameters microbatches=2 steps=3",
           "pipeline 1x2 schedule={gpipe,interleaved,zero_bubble} microbatches=4 steps=3",
           "all_reduce+model_parallel 2x2 steps=3",
           "all_reduce+pipeline+tensor_parallel 2x2x2 microbatches=2 steps=3", "in_graph 3 steps=3",
           "parameter_server 2 servers=2 steps=3", "local_sgd 2 sync_every=2 steps=3",
           "{async_shared,parameter_server_async} steps=3"}),
      all);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Strategies, WithRecomputation, testing::ValuesIn(cases()),
                         [](const auto& test) { return name_of(test.param); });

/// The planned memory of the place that needs the most.
std::int64_t planned(const Step& built, const char* strategy, const StrategyOptions& options) {
  const Step part = partitioned(placed(built, strategy, options), Binding{}).front();
  const Plan plan(part, PlanOptions{});
  std::int64_t most = 0;
  for (const auto& [place, use] : planned_memory(part.graph, plan, plan_memory(part.graph, plan))) {
    most = std::max(most, use.sum());
  }
  return most;
}

/// The first layers of images hold most of the activations, so that a block of them has to come
/// back almost whole: there `full` may need more than `selective`.
TEST(RecomputeMemory, IsLessThanWithoutAndForLanguageLeastIfAllIsRecomputed) {
  const std::map<std::string, std::int64_t> batches = {
      {"gpt_thin", 12}, {"gpt_small", 32}, {"resnet9_thin", 256}, {"airbench94_narrow", 512}};
  std::cout << "KB of the largest place, by microbatches: none, selective, full\n";
  for (const auto& [workload, batch] : batches) {
    const Step step = fuse(training_of(workload, batch, 100));
    for (const char* strategy : {"single", "pipeline"}) {
      for (const std::int64_t microbatches : {1, 4}) {
        std::cout << workload << ' ' << strategy << ", " << microbatches << ':';
        std::map<std::string, std::int64_t> bytes;
        for (const char* which : {"none", "selective", "full"}) {
          StrategyOptions options = options_of(which, microbatches);
          if (std::string(strategy) == "pipeline") options.stages = 2;
          bytes[which] = planned(step, strategy, options);
          std::cout << ' ' << bytes[which] / 1000;
        }
        std::cout << '\n';
        SCOPED_TRACE(workload + ' ' + strategy);
        EXPECT_LT(bytes["selective"], bytes["none"]);
        const bool is_language = testing_support::is_language(workload);
        EXPECT_LT(bytes["full"], bytes[is_language ? "selective" : "none"]);
      }
    }
  }
}

/// The planned memory of the second of two processes, which has the place with any coordinate 1.
MemoryUse use_of_second(const Step& built, const char* strategy, const StrategyOptions& options) {
  Binding binding;
  binding.processes = 2;
  binding.process_of = [](const Place& place) { return place.replica + place.stage + place.shard; };
  const Step part = partitioned(placed(built, strategy, options), binding).back();
  const Plan plan(part, PlanOptions{});
  return planned_memory(part.graph, plan, plan_memory(part.graph, plan)).rbegin()->second;
}

TEST(RecomputeMemory, OfActivationsComputedFromReceivedValuesIsThatOfActivations) {
  const Step built = fuse(training_of("gpt_thin", 12, 100));
  for (const char* strategy : {"pipeline", "tensor_parallel", "sharded"}) {
    std::map<std::string, MemoryUse> uses;
    for (const char* which : {"none", "selective", "full"}) {
      StrategyOptions options = options_of(which, 2);
      options.stages = options.shards = options.replicas = 2;
      if (std::string(strategy) == "sharded") {
        options.given["shard"] = "parameters";
        options.given["bucket_bytes"] = std::int64_t{100'000};
      }
      uses[which] = use_of_second(built, strategy, options);
    }
    SCOPED_TRACE(strategy);
    // Both have most memory where most gradients live.
    EXPECT_EQ(uses["full"].gradients, uses["selective"].gradients);
    EXPECT_LT(uses["full"].activations, uses["selective"].activations);
    EXPECT_LT(uses["selective"].activations, uses["none"].activations);
  }
}

}  // namespace
}  // namespace regatta::strategies
