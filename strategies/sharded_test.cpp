// SPDX-License-Identifier: Apache-2.0
//
// sharded gives the bits of all_reduce by a ring, because each share's sums are those of the ring
// and updates work element by element; and a worker keeps less. processes_of_training_test.cpp
// covers processes. Where buckets are blocks, the ring's are, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include "kernels/cpu/lacks_for_test.h"
#include "kernels/runtime/memory_plan.h"
#include "strategies/curve_by_adam_for_test.h"
#include "strategies/shares.h"
#include "strategies/test_support.h"

namespace regatta::strategies {
namespace {

using testing_support::curve_by_adam;
using testing_support::data_of;
using testing_support::training_of;
using testing_support::Trial;
using testing_support::TrialOptions;

struct Case {
  std::string workload = "parabola";
  std::int64_t replicas = 2;
  std::int64_t global_batch = 49;
  std::int64_t steps = 20;
  std::int64_t bucket_bytes = 0;
  ElementType element = ElementType::F32;
};

TrialOptions options_of(const Case& test, const std::string& strategy) {
  TrialOptions options;
  options.strategy = strategy;
  options.options.replicas = test.replicas;
  options.options.given["bucket_bytes"] = test.bucket_bytes;
  options.steps = test.steps;
  return options;
}

/// Values of `--shard` and `--reshard-after-forward`.
struct Shard {
  std::string shard, reshard = "yes";
  bool by_blocks() const { return shard == "parameters"; }
};
const std::vector<Shard> kShards = {
    {"optimizer"}, {"gradients"}, {"parameters"}, {"parameters", "no"}};

void PrintTo(const Shard& shard, std::ostream* out) { *out << shard.shard << ' ' << shard.reshard; }

TrialOptions sharded(const Case& test, const Shard& shard) {
  TrialOptions options = options_of(test, "sharded");
  options.options.given["shard"] = shard.shard;
  options.options.given["reshard_after_forward"] = shard.reshard;
  return options;
}

/// The same with all_reduce, in the buckets of `shard`.
TrialOptions ring_like(TrialOptions options, const Shard& shard) {
  static const Strategy in_blocks = [] {
    Strategy made = *find_strategies("all_reduce").front();
    made.rewrite = [](const Step& step, const StrategyOptions& given) {
      return in_units(find_strategies("all_reduce").front()->rewrite(step, given));
    };
    return made;
  }();
  options.own = find_strategies(options.strategy);
  options.own.front() = shard.by_blocks() ? &in_blocks : find_strategies("all_reduce").front();
  options.options.given.erase("shard");
  options.options.given.erase("reshard_after_forward");
  return options;
}

/// Runs a case under each way to shard, and under the ring in its buckets.
void expect_bits_of_the_ring(const Step& step, const Case& test,
                             const std::function<void(TrialOptions&)>& change = {}) {
  std::map<bool, std::unique_ptr<Trial>> rings;  // by whether buckets are blocks
  for (const Shard& shard : kShards) {
    SCOPED_TRACE(testing::PrintToString(shard));
    TrialOptions options = sharded(test, shard);
    if (change) change(options);
    std::unique_ptr<Trial>& ring = rings[shard.by_blocks()];
    if (!ring) {
      ring = std::make_unique<Trial>(step, data_of(test.workload), ring_like(options, shard));
    }
    Trial shares(step, data_of(test.workload), options);
    EXPECT_EQ(shares.losses(), ring->losses());
    EXPECT_EQ(shares.parameters(), ring->parameters());
  }
}

Step step_of(const Case& test) {
  return training_of(test.workload, test.global_batch, 2328, test.element);
}

class Sharded : public testing::TestWithParam<Case> {};

TEST_P(Sharded, GivesTheBitsOfAllReduce) {
  const Case& test = GetParam();
  if (const std::string why = cpu::why_cpu_lacks(test.element); !why.empty()) GTEST_SKIP() << why;
  expect_bits_of_the_ring(step_of(test), test);
}

/// Uneven shares of examples; buckets with fewer elements than workers, buckets that end within a
/// variable, and one that holds all; statistics, lookahead and frozen filters.
std::vector<Case> cases() {
  std::vector<Case> cases;
  for (const std::int64_t n : {1, 2, 3, 5}) {
    for (const std::int64_t bucket_bytes : {0, 24, 1 << 22}) {
      cases.push_back({.replicas = n, .bucket_bytes = bucket_bytes});
    }
    for (const std::int64_t bucket_bytes : {0, 16 << 10, 1 << 22}) {
      cases.push_back({.workload = "resnet9_narrow",
                       .replicas = n,
                       .global_batch = 20,
                       .steps = 3,
                       .bucket_bytes = bucket_bytes});
    }
  }
  for (const std::int64_t n : {2, 3, 4}) {
    cases.push_back({.workload = "gpt_narrow", .replicas = n, .global_batch = 12, .steps = 4});
  }
  cases.push_back({.workload = "resnet9_narrow",
                   .replicas = 3,
                   .global_batch = 20,
                   .steps = 3,
                   .bucket_bytes = 1 << 18,
                   .element = ElementType::BF16});
  cases.push_back({.workload = "airbench94_narrow",
                   .replicas = 3,
                   .global_batch = 96,
                   .steps = 6,
                   .bucket_bytes = 64 << 10,
                   .element = ElementType::BF16});
  return cases;
}

std::vector<Case> cases_of(const std::string& workload) {
  std::vector<Case> all = cases();
  std::erase_if(all, [&](const Case& test) { return test.workload != workload; });
  return all;
}

std::string name_of(const testing::TestParamInfo<Case>& test) {
  return test.param.workload + "_" + std::string(to_string(test.param.element)) + "_" +
         std::to_string(test.param.replicas) + "_workers_buckets_of_" +
         std::to_string(test.param.bucket_bytes);
}

INSTANTIATE_TEST_SUITE_P(Parabola, Sharded, testing::ValuesIn(cases_of("parabola")), name_of);
INSTANTIATE_TEST_SUITE_P(Narrow, Sharded, testing::ValuesIn(cases_of("resnet9_narrow")), name_of);
INSTANTIATE_TEST_SUITE_P(Gpt, Sharded, testing::ValuesIn(cases_of("gpt_narrow")), name_of);
INSTANTIATE_TEST_SUITE_P(Airbench94, Sharded, testing::ValuesIn(cases_of("airbench94_narrow")),
                         name_of);

/// In replicas of several stages, microbatches add up before the sums are scattered.
TEST(ShardedStages, GiveTheBitsOfAllReduce) {
  for (const Case& test : {Case{.replicas = 3, .bucket_bytes = 24}, Case{.workload = "resnet9_thin",
                                                                    .global_batch = 80,
                                                                    .steps = 3,
                                                                    .bucket_bytes = 64 << 10}}) {
    for (const std::string staged : {"pipeline gpipe", "pipeline 1f1b", "pipeline interleaved",
                                     "pipeline zero_bubble", "model_parallel"}) {
      const std::size_t space = std::min(staged.find(' '), staged.size());
      const auto change = [&](TrialOptions& options) {
        options.strategy += "+" + staged.substr(0, space);
        options.options.stages = 2;
        if (space < staged.size()) {
          options.options.given["schedule"] = staged.substr(space + 1);
          options.options.given["microbatches"] = std::int64_t{4};
        }
        if (staged.ends_with("interleaved")) options.options.given["chunks"] = std::int64_t{1};
      };
      SCOPED_TRACE(test.workload + ", " + staged);
      expect_bits_of_the_ring(step_of(test), test, change);
    }
  }
}

/// Of a clipped GPT with tied weights.
TEST(ShardedBlocks, GiveTheBitsOfTheRingWithMicrobatchesAndRecomputation) {
  const Case test{.workload = "gpt_narrow", .replicas = 3, .global_batch = 12, .steps = 4};
  EXPECT_GT(step_of(test).gradient_clip, 0);
  for (const char* recompute : {"none", "selective", "full"}) {
    SCOPED_TRACE(recompute);
    expect_bits_of_the_ring(step_of(test), test, [&](TrialOptions& options) {
      options.options.given["microbatches"] = 2;
      options.options.given["recompute"] = recompute;
    });
  }
}

/// The blocks that replica 0 gathers, in `()`, and those that it then computes with.
std::string gathers_of(const std::string& reshard) {
  const Case test{.workload = "gpt_narrow", .global_batch = 12};
  const Step step = apply(find_strategies("sharded"), step_of(test),
                          sharded(test, {"parameters", reshard}).options);
  std::string text, latest;
  for (const Node& node : step.graph.nodes()) {
    if (node.place != Place{} || op_info(node.op).view) continue;
    std::string block = node.layer.substr(0, node.layer.find('.'));
    if (node.op == Op::AllGather) {
      text += " (" + block + ")";
    } else if (node.phase == Phase::Forward || node.phase == Phase::Backward) {
      if (node.phase == Phase::Backward) block += "'";
      if (block != latest) text += " " + block;
      latest = block;
    }
  }
  return text;
}

/// The embedding's table is also the head's. Its gradient needs no parameter, nor does wpe's.
TEST(ShardedBlocks, AreGatheredWhileTheOneBeforeIsUsed) {
  EXPECT_EQ(gathers_of("yes"), "");
  EXPECT_EQ(gathers_of("no"), "");
}

TEST(ShardedAdam, GivesTheBitsOfAllReduce) {
  constexpr std::int64_t kPoints = 50;
  const Case test{.replicas = 3, .bucket_bytes = 40};
  expect_bits_of_the_ring(curve_by_adam(kPoints), test);
}

/// Bytes of trained parameters and of slots, by worker.
std::map<int, std::int64_t> state_bytes(const Graph& graph) {
  std::map<int, std::int64_t> bytes;
  for (const Variable& variable : graph.variables()) {
    if (variable.kind == VariableKind::Statistic) continue;
    bytes[variable.place.replica] += variable.type.bytes();
  }
  return bytes;
}

TEST(ShardedMemory, HasTheStateOfAWorkerOnce) {
  for (const std::int64_t n : {2, 3, 5}) {
    const Case test{
        .workload = "resnet9_thin", .replicas = n, .global_batch = 80, .bucket_bytes = 64 << 10};
    const auto graph_of = [&](const TrialOptions& options) {
      return apply(find_strategies(options.strategy), step_of(test), options.options).graph;
    };
    const std::int64_t whole = state_bytes(graph_of(options_of(test, "all_reduce"))).at(0);
    std::int64_t sum = 0;
    for (const auto& [worker, bytes] : state_bytes(graph_of(sharded(test, {"optimizer"})))) {
      // Shares of a bucket differ by at most one element, of a parameter and a slot.
      EXPECT_NEAR(static_cast<double>(bytes), static_cast<double>(whole) / static_cast<double>(n),
                  64 * 2 * 4.0);
      sum += bytes;
    }
    EXPECT_EQ(sum, whole);
  }
}

/// Memory for two buckets at a time. The two largest, which are neighbours, are 71 % of resnet9_thin:
/// the gradients and gathered parameters of all others are freed by then. Four equal blocks are
/// 97 % of gpt_small.
void expect_less_memory(const Case& test) {
  SCOPED_TRACE(test.workload);
  const auto planned = [&](const TrialOptions& options) {
    const Step part =
        partitioned(apply(find_strategies(options.strategy), step_of(test), options.options),
                    Binding{})
            .front();
    const Plan plan(part, PlanOptions{});
    return planned_memory(part.graph, plan, plan_memory(part.graph, plan)).at(Place{}).sum();
  };
  const std::int64_t ring = planned(options_of(test, "all_reduce"));
  const std::int64_t kept = planned(sharded(test, {"optimizer"}));
  const std::int64_t freed = planned(sharded(test, {"gradients"}));
  std::int64_t gradients = 0;
  for (const Trainable& t : step_of(test).trainables) {
    gradients += step_of(test).graph.variable(t.variable).type.bytes();
  }
  EXPECT_LT(freed, kept - gradients / 5);
  const std::int64_t stay = planned(sharded(test, {"parameters", "no"}));
  const std::int64_t gathered = planned(sharded(test, {"parameters"}));
  EXPECT_LT(gathered, freed - gradients / 10);
  EXPECT_LT(gathered, stay - gradients / 10);
  EXPECT_LE(stay, freed);
  std::cout << test.workload << ", worker 0: " << ring << " bytes with all_reduce, " << kept
            << " sharded, " << freed << " where gradients are freed, " << stay
            << " where parameters are gathered once, " << gathered
            << " where twice; parameters have " << gradients << '\n';
}

TEST(ShardedMemory, OfGradientsAndGatheredParametersIsThatOfAFewBuckets) {
  expect_less_memory({.workload = "resnet9_thin", .global_batch = 32, .bucket_bytes = 100'000});
  expect_less_memory({.workload = "gpt_small", .replicas = 4, .global_batch = 32, .bucket_bytes = 1 << 20});
}

}  // namespace
}  // namespace regatta::strategies
