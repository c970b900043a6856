// SPDX-License-Identifier: Apache-2.0
//
// sharded gives the bits of all_reduce by a ring, because each share's sums are those of the ring
// and updates work element by element; and a worker keeps less. processes_of_training_test.cpp
// covers processes. Where buckets end with blocks, the ring's do, too.
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "kernels/cpu/lacks_for_test.h"
#include "kernels/runtime/memory_plan.h"
#include "strategies/curve_by_adam_for_test.h"
#include "strategies/equivalence_for_test.h"
#include "strategies/shares.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;

/// Values of `--shard` and `--reshard-after-forward`.
struct Shard {
  std::string shard, reshard = "yes";
  bool by_blocks() const { return shard == "parameters"; }
};
const std::vector<Shard> kShards = {
    {"optimizer"}, {"gradients"}, {"parameters"}, {"parameters", "no"}};

void PrintTo(const Shard& shard, std::ostream* out) { *out << shard.shard << ' ' << shard.reshard; }

TrialOptions sharded(const Case& test, const Shard& shard) {
  TrialOptions options = options_of(test);
  options.options.given["shard"] = shard.shard;
  options.options.given["reshard_after_forward"] = shard.reshard;
  return options;
}

TrialOptions all_reduce(Case test) {
  test.strategy = "all_reduce";
  return options_of(test);
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
void expect_bits_of_the_ring(const Step& step, const Case& test) {
  std::map<bool, std::unique_ptr<Trial>> rings;  // by whether buckets end with blocks
  for (const Shard& shard : kShards) {
    SCOPED_TRACE(testing::PrintToString(shard));
    const TrialOptions options = sharded(test, shard);
    std::unique_ptr<Trial>& ring = rings[shard.by_blocks()];
    if (!ring) {
      ring = std::make_unique<Trial>(step, data_of(test.workload), ring_like(options, shard));
    }
    Trial shares(step, data_of(test.workload), options);
    EXPECT_EQ(shares.losses(), ring->losses());
    EXPECT_EQ(shares.parameters(), ring->parameters());
  }
}

class Sharded : public testing::TestWithParam<Case> {};

TEST_P(Sharded, GivesTheBitsOfAllReduce) {
  const Case& test = GetParam();
  if (const std::string why = cpu::why_cpu_lacks(test.element); !why.empty()) GTEST_SKIP() << why;
  expect_bits_of_the_ring(step_of(test), test);
}

/// Uneven shares of examples; buckets with fewer elements than workers, buckets that end within a
/// variable, and one that holds all; statistics, lookahead and frozen filters.
INSTANTIATE_TEST_SUITE_P(
    All, Sharded,
    testing::ValuesIn(
        cases_of("", {"parabola 49 sharded {1,2,3,5} bucket_bytes={0,24,4194304}",
                      "resnet9_narrow 20 sharded {1,2,3,5} bucket_bytes={0,16384,4194304} steps=3",
                      "gpt_narrow 12 sharded {2,3,4} bucket_bytes=1048576 steps=4",
                      "resnet9_narrow 20 sharded 3 bucket_bytes=262144 steps=3 bf16",
                      "airbench94_narrow 96 sharded 3 bucket_bytes=65536 steps=6 bf16"})),
    [](const auto& test) { return name_of(test.param); });

/// Trains with each way to share, and compares with `single`.
void expect_results_of_single(const Case& test) {
  SCOPED_TRACE(name_of(test));
  for (const Shard& shard : kShards) {
    SCOPED_TRACE(testing::PrintToString(shard));
    const Deviation found = testing_support::deviation_from_single(
        test, testing_support::result_of(step_of(test), test, sharded(test, shard)));
    EXPECT_LE(found.losses, testing_support::bounds_of(test).losses);
    EXPECT_LE(found.parameters, testing_support::bounds_of(test).parameters);
  }
}

/// In replicas of several stages, microbatches add up before the sums are scattered.
TEST(ShardedStages, GiveTheBitsOfAllReduce) {
  const std::string staged =
      "sharded+{model_parallel,pipeline microbatches=4 schedule=gpipe,"
      "pipeline microbatches=4 schedule=1f1b,pipeline microbatches=4 schedule=zero_bubble,"
      "pipeline microbatches=4 schedule=interleaved chunks=1}";
  for (const Case& test :
       cases_of("", {"parabola 49 " + staged + " 3x2 bucket_bytes=24",
                     "resnet9_thin 80 " + staged + " 2x2 bucket_bytes=65536 steps=3"})) {
    SCOPED_TRACE(name_of(test));
    expect_bits_of_the_ring(step_of(test), test);
  }
}

/// The models are a clipped GPT with tied weights and one of points, with buckets of 24 bytes. The
/// ring adds up microbatches before workers, and sums that free gradients are of each microbatch.
TEST(ShardedBlocks, GiveTheResultsOfSingleWithMicrobatchesAndRecomputation) {
  for (const Case& test :
       cases_of("", {"gpt_narrow 12 sharded 3 bucket_bytes=1048576 steps=4 "
                     "microbatches={2,3} recompute={none,full}",
                     "gpt_narrow 12 sharded+model_parallel 2x2 bucket_bytes=8192 microbatches=3",
                     "parabola 49 sharded {2,3} bucket_bytes={0,24,4194304} microbatches=5"})) {
    expect_results_of_single(test);
  }
}

/// In shards of each replica, whose rows and columns workers divide among them. Shares of 65
/// tokens, and so the buckets of shards, differ; the GPT is clipped by the norm of all.
TEST(ShardedShards, GiveTheResultsOfSingle) {
  for (const Case& test :
       cases_of("", {"parabola 49 sharded+tensor_parallel {2,3}x1x2 bucket_bytes={0,24,4194304}",
                     "gpt_narrow 12 sharded+tensor_parallel {2,3}x1x2 bucket_bytes=8192",
                     "gpt_narrow 12 sharded+tensor_parallel 2x1x3 microbatches=2 recompute=full",
                     "llama_narrow 12 sharded+tensor_parallel 2x1x2 sequence_parallel=yes",
                     "gpt_narrow 12 sharded+pipeline+tensor_parallel 2x2x2 microbatches=2",
                     "resnet9_narrow 20 sharded+tensor_parallel 2x1x2 bucket_bytes=16384",
                     "gpt_narrow 12 sharded+context_parallel 3x1x2"})) {
    expect_results_of_single(test);
  }
}

/// The blocks that replica 0 gathers, in `()`, and those that it then computes with.
std::string gathers_of(const std::string& reshard) {
  const Case test = case_of("gpt_narrow 12 sharded 2 bucket_bytes=1048576");
  const Step step = apply(find_strategies("sharded"), step_of(test),
                          sharded(test, {"parameters", reshard}).options);
  std::string text, latest;
  for (const Node& node : step.graph.nodes()) {
    const bool keeps_share = node.op == Op::Sum;
    if (node.place != Place{} || op_info(node.op).view || keeps_share) continue;
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
  const Case test = case_of("parabola 49 sharded 3 bucket_bytes=40");
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
    Case test = case_of("resnet9_thin 80 sharded bucket_bytes=65536");
    test.replicas = n;
    const auto graph_of = [&](const TrialOptions& options) {
      return apply(find_strategies(options.strategy), step_of(test), options.options).graph;
    };
    const std::int64_t whole = state_bytes(graph_of(all_reduce(test))).at(0);
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
    ring = planned(test, all_reduce(test));
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
  const Planned found(case_of("resnet9_thin 32 sharded 2 bucket_bytes=100000"));
  EXPECT_LT(found.freed, found.kept - found.parameters / 5);
  EXPECT_LT(found.gathered, found.freed - found.parameters / 10);
  // With two workers, shares of parameters and of one slot save what gathered parameters take.
  EXPECT_EQ(found.kept, found.ring);
}

/// Gradients are clipped: each worker keeps its share until it has the norm.
TEST(ShardedMemory, OfClippedGradientsIsThatOfTwoBucketsAndAShare) {
  const Planned found(case_of("gpt_narrow 4 sharded 4 bucket_bytes=8192"));
  EXPECT_LT(found.freed, found.kept - found.parameters / 3);
}

/// With microbatches, too: each one's gradients are summed in their turn, and a worker adds up its
/// share. Whole gradients would be there at once from the first microbatch on.
TEST(ShardedMemory, OfGradientsOfMicrobatchesIsThatOfAFewBucketsAndAShare) {
  const Planned found(case_of("gpt_narrow 8 sharded 4 bucket_bytes=8192 microbatches=2"));
  EXPECT_LT(found.freed, found.kept - found.parameters / 3);
}

/// Two of four equal blocks, which are 97 % of this model, are gathered at a time.
TEST(ShardedMemory, OfGatheredBlocksIsThatOfTwo) {
  const Planned found(case_of("gpt_small 32 sharded 4 bucket_bytes=4194304"));
  EXPECT_NEAR(static_cast<double>(found.stay - found.gathered),
              static_cast<double>(found.parameters) / 2,
              0.05 * static_cast<double>(found.parameters));
  EXPECT_LT(found.gathered, found.freed);
}

}  // namespace
}  // namespace regatta::strategies
