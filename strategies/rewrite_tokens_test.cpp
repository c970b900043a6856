// SPDX-License-Identifier: Apache-2.0
//
// context_parallel as a rewrite: a graph in, a graph with shares of tokens out.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kernels/base/error_for_test.h"
#include "strategies/rewritten_for_test.h"

namespace regatta::strategies {
namespace {

using regatta::testing_support::error_of;

/// gpt_tiny: 2 layers, 4 heads, sequences of 16 tokens.
Step tokens_of(std::int64_t shards, const OptionValues& given = {},
               const std::string& workload = "gpt_tiny",
               const std::string& strategy = "context_parallel") {
  workloads::Recipe recipe;
  recipe.global_batch = 96;
  recipe.train_examples = 96;
  recipe.total_examples = 960;
  StrategyOptions options;
  options.given = given;
  options.shards = shards;
  options.replicas = strategy.starts_with("all_reduce") ? 2 : 1;
  return apply(find_strategies(strategy), workloads::find_workload(workload).training(recipe),
               options);
}

/// One process for each shard.
std::vector<Step> parts_of(const Step& step, int shards) {
  return partitioned(
      step, {.processes = shards, .process_of = [](const Place& place) { return place.shard; }});
}

std::string refusal_of(std::int64_t shards, const OptionValues& given,
                       const std::string& workload = "gpt_tiny",
                       const std::string& strategy = "context_parallel") {
  return error_of([&] { tokens_of(shards, given, workload, strategy); }, ErrorKind::Usage);
}

const OptionValues kByHeads{{"context_exchange", "ulysses"}};

TEST(ContextParallel, SaysWhichNumbersOfShardsArePossible) {
  EXPECT_TRUE(
      refusal_of(3, {}).ends_with("16 tokens, in 2 chunks each; fix: 2, 4 and 8 shards would do"))
      << refusal_of(3, {});
  EXPECT_TRUE(
      refusal_of(8, kByHeads).ends_with("16 tokens and of 4 heads; fix: 2 and 4 shards would do"))
      << refusal_of(8, kByHeads);
  EXPECT_NE(refusal_of(1, {}).find("fix: give --workers 2"), std::string::npos);
}

TEST(ContextParallel, SaysWhichWorkloadsHaveSequences) {
  EXPECT_NE(refusal_of(2, {}, "resnet9_thin").find("such as gpt_tiny, gpt_thin or gpt_small"),
            std::string::npos);
}

TEST(ContextParallel, RefusesATorusOfReplicas) {
  EXPECT_NE(refusal_of(2, {{"all_reduce", "torus"}, {"torus", "2x1"}}, "gpt_tiny",
                       "all_reduce+context_parallel")
                .find("fix: leave --torus out"),
            std::string::npos);
}

/// Each block's keys and values leave before the block is computed, forward and backward.
TEST(ContextParallel, SendsKeysAndValuesBeforeItUsesThem) {
  constexpr int kShards = 4, kLayers = 2;
  for (const Step& part : parts_of(tokens_of(kShards), kShards)) {
    std::map<Value, NodeId> sent;
    int before = 0;
    for (NodeId id = 0; id < std::ssize(part.graph.nodes()); ++id) {
      const Node& node = part.graph.node(id);
      if (node.op == Op::Send) sent[node.inputs[0]] = id;
      if (node.op == Op::Attention) before += sent.contains(node.inputs[1]) ? 1 : 0;
      if (node.op == Op::AttentionBackward) before += sent.contains(node.inputs[4]) ? 1 : 0;
    }
    EXPECT_EQ(before, 2 * kLayers * (kShards - 1));
  }
}

/// Counts half a chunk where a token of a chunk sees those of the same chunk before it.
TEST(ContextParallel, GivesAllShardsEquallyManyKeys) {
  constexpr std::int64_t kShards = 4, kLayers = 2;
  const Step step = tokens_of(kShards);
  std::map<int, std::int64_t> halves;
  for (const Node& node : step.graph.nodes()) {
    if (node.op != Op::Attention) continue;
    for (const std::int64_t query : node.attributes.integers("queries")) {
      for (const std::int64_t key : node.attributes.integers("keys")) {
        halves[node.place.shard] += query == key ? 1 : query > key ? 2 : 0;
      }
    }
  }
  for (const auto& [shard, seen] : halves) EXPECT_EQ(seen, kLayers * 4 * kShards) << shard;
  EXPECT_EQ(std::ssize(halves), kShards);
}

/// Sums of gradients join the shards of all replicas; nothing else is summed.
TEST(ContextParallel, SumsEachGradientOnceOverAllShards) {
  for (const std::string strategy : {"context_parallel", "all_reduce+context_parallel"}) {
    const Step step = tokens_of(2, {{"bucket_bytes", 0}}, "gpt_tiny", strategy);
    const std::int64_t places = strategy == "context_parallel" ? 2 : 4;
    EXPECT_EQ(std::ssize(step.losses), places);
    std::map<std::int64_t, std::set<std::int64_t>> members;
    for (const Node& node : step.graph.nodes()) {
      if (node.op != Op::AllReduce) continue;
      EXPECT_EQ(node.attributes.integer("members"), places);
      members[node.attributes.integer("group")].insert(node.member);
    }
    EXPECT_EQ(std::ssize(members), std::ssize(step.trainables) / places);
    for (const auto& [group, numbers] : members) EXPECT_EQ(std::ssize(numbers), places) << group;
  }
}

}  // namespace
}  // namespace regatta::strategies
