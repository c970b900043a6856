// SPDX-License-Identifier: Apache-2.0
//
// sharded gives the bits of all_reduce by a ring, because each share's sums are those of the ring
// and updates work element by element; and a worker keeps less. processes_of_training_test.cpp
// covers processes. Where buckets end with blocks, the ring's do, too.
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
  std::map<bool, std::unique_ptr<Trial>> rings;  // by whether buckets end with blocks
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
    cases.push_back({.workload = "gpt_narrow",
                     .replicas = n,
                     .global_batch = 12,
                     .steps = 4,
                     .bucket_bytes = 1 << 20});
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

/// The model is a clipped GPT with tied weights.
TEST(ShardedBlocks, GiveTheBitsOfTheRingWithMicrobatchesAndRecomputation) {
  const Case test{.workload = "gpt_narrow",
                  .replicas = 3,
                  .global_batch = 12,
                  .steps = 4,
                  .bucket_bytes = 1 << 20};
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
  const Case test{.workload = "gpt_narrow", .global_batch = 12, .bucket_bytes = 1 << 20};
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
  const std::string back = " head loss loss' head' layer1' layer0' wpe' wte'";
  const std::string forth = " (wte) (wpe) wte (layer0) wpe (layer1) layer0 (head) layer1";
  EXPECT_EQ(gathers_of("yes"), forth + " (layer0)" + back);
  EXPECT_EQ(gathers_of("no"), forth + back);
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

std::int64_t planned(const Case& test, const TrialOptions& options) {
  const Step part =
      partitioned(apply(find_strategies(options.strategy), step_of(test), options.options),
                  Binding{})
          .front();
  const Plan plan(part, PlanOptions{});
  return planned_memory(part.graph, plan, plan_memory(part.graph, plan)).at(Place{}).sum();
}

/// Planned bytes of worker 0, by way to shard.
struct Planned {
  explicit Planned(const Case& test) {
    for (const auto& [name, values] : testing_support::first_parameters(step_of(test))) {
      parameters += 4 * static_cast<std::int64_t>(values.size());
    }
    ring = planned(test, options_of(test, "all_reduce"));
    kept = planned(test, sharded(test, {"optimizer"}));
    freed = planned(test, sharded(test, {"gradients"}));
    stay = planned(test, sharded(test, {"parameters", "no"}));
    gathered = planned(test, sharded(test, {"parameters"}));
    std::cout << test.workload << ", worker 0: " << ring << " bytes with all_reduce, " << kept
              << " sharded, " << freed << " where gradients are freed, " << stay
              << " where they and parameters after backward are, " << gathered
              << " where parameters after forward are, too; parameters have " << parameters << '\n';
  }
  std::int64_t parameters = 0, ring = 0, kept = 0, freed = 0, stay = 0, gathered = 0;
};

/// Memory for two buckets at a time. The two largest, which are neighbours, are 71 % of this model:
/// the gradients and gathered parameters of all others are freed by then.
TEST(ShardedMemory, OfGradientsAndGatheredParametersIsThatOfAFewBuckets) {
  const Planned found({.workload = "resnet9_thin", .global_batch = 32, .bucket_bytes = 100'000});
  EXPECT_LT(found.freed, found.kept - found.parameters / 5);
  EXPECT_LT(found.gathered, found.freed - found.parameters / 10);
  EXPECT_LT(found.kept, found.ring);
}

/// Two of four equal blocks, which are 97 % of this model, are gathered at a time.
TEST(ShardedMemory, OfGatheredBlocksIsThatOfTwo) {
  const Planned found(
      {.workload = "gpt_small", .replicas = 4, .global_batch = 32, .bucket_bytes = 4 << 20});
  EXPECT_NEAR(static_cast<double>(found.stay - found.gathered),
              static_cast<double>(found.parameters) / 2,
              0.05 * static_cast<double>(found.parameters));
  EXPECT_LT(found.gathered, found.freed);
}

}  // namespace
}  // namespace regatta::strategies
