// SPDX-License-Identifier: Apache-2.0
//
// Bytes counted at the transport while steps run equal those computed from the graph, place by
// place; and these equal the formulas of the literature.
#include <gtest/gtest.h>

#include "kernels/distribute/traffic.h"
#include "strategies/equivalence_for_test.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;

constexpr std::int64_t kSteps = 3;
constexpr std::int64_t kBatch = 40;

Trial run_case(Case test) {
  test.steps = kSteps;
  return {training_of(test.workload, test.global_batch, kSteps), data_of(test.workload),
          options_of(test)};
}

/// Runs a case of resnet9_narrow with replicas.
Trial run_case(const std::string& strategy, std::int64_t replicas,
               const std::string& options = "") {
  return run_case(
      case_of("resnet9_narrow 40 " + strategy + " " + std::to_string(replicas) + " " + options));
}

/// M: bytes of all parameters.
std::int64_t parameter_bytes(Trial& run) {
  std::int64_t bytes = 0;
  for (const auto& [name, values] : run.parameters()) {
    bytes += static_cast<std::int64_t>(values.size() * sizeof values[0]);
  }
  return bytes;
}

Place worker(int replica) { return {.replica = replica, .stage = 0, .role = Role::Worker}; }

TEST(TrafficBetween, NamesTheCoordinatesOfEachGroupAndCountsAllBytes) {
  StrategyOptions options;
  options.replicas = options.stages = options.shards = 2;
  const Step step = apply(find_strategies("all_reduce+model_parallel+tensor_parallel"),
                          training_of("gpt_narrow", 8, kSteps), options);
  const Graph graph = partitioned(step, Binding{}).front().graph;
  std::map<std::string, CollectiveTraffic> parts = traffic_between(graph);
  std::vector<std::string> names;
  std::int64_t sent = 0;
  for (const auto& [name, part] : parts) {
    names.push_back(name);
    sent += part.sent;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"replicas", "shards", "stages and shards"}));
  // The norm of the gradients of each replica: a ring of four sends one number six times.
  EXPECT_EQ(parts["stages and shards"].collectives, 2);
  EXPECT_EQ(parts["stages and shards"].sent, 2 * 6 * 4);
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::Copy) sent += graph.type({node.inputs[0]}).bytes();
  }
  EXPECT_EQ(sent, bytes_sent(graph, 1));
}

class Traffic : public testing::TestWithParam<Case> {};

TEST_P(Traffic, CountedEqualsComputedAtEveryPlace) {
  Trial run = run_case(GetParam());
  const auto computed = traffic(run.graph(), kSteps);
  const auto counted = run.counted();
  ASSERT_EQ(counted.size(), computed.size());
  for (const auto& [place, expected] : computed) {
    EXPECT_EQ(counted.at(place).sent, expected.sent) << to_string(place);
    EXPECT_EQ(counted.at(place).received, expected.received) << to_string(place);
    EXPECT_EQ(counted.at(place).messages, expected.messages) << to_string(place);
  }
}

std::vector<Case> cases() {
  std::vector<Case> all = cases_of(
      "resnet9_narrow 40 ", {"{in_graph,central_storage} 3",
                             "all_reduce {2,3}",
                             "all_reduce 3 all_reduce=reduce_to_one",
                             "all_reduce 5 all_reduce=hierarchical_copy",
                             "all_reduce 4 all_reduce={double_tree,torus}",
                             "all_reduce 4 all_reduce=torus torus=1x4",
                             "all_reduce+quantized 3",
                             "diloco+quantized 2 bits=4",
                             "all_reduce+bf16_compress 3",
                             "all_reduce+bf16_compress 5 all_reduce=hierarchical_copy",
                             "all_reduce+bf16_compress 4 all_reduce=torus",
                             "sharded 2",
                             "sharded 3 bucket_bytes=25000",
                             "sharded 5 shard=gradients",
                             "sharded 3 shard=parameters {bucket_bytes=25000,microbatches=2}",
                             "all_reduce+tensor_parallel 2x1x2 {microbatches=2,bucket_bytes=25000}",
                             "model_parallel 1x3",
                             "all_reduce+model_parallel 2x2",
                             "{local_sgd,diloco} 3 sync_every=2",
                             "diloco 2 sync_every=2 fragments=2",
                             "diloco 3 sync_every=2 delay=1",
                             "local_sgd 2 sync_every=5 sync_from=2",
                             "gossip 3",
                             "gossip 4 overlap=1",
                             "pipeline 1x3 microbatches=3",
                             "all_reduce+pipeline 2x2 schedule=zero_bubble",
                             "tensor_parallel 1x1x{2,3}",
                             "tensor_parallel 1x1x4 all_reduce=double_tree",
                             "model_parallel+tensor_parallel 1x2x2"});
  append(cases_of("{resnet9_narrow,gpt_narrow} 40 ",
                  {"all_reduce+pipeline+tensor_parallel 2x2x2 microbatches=2"}),
         all);
  append(cases_of("gpt_narrow 40 ",
                  {"tensor_parallel 1x1x3", "tensor_parallel 1x1x2 sequence_parallel=yes",
                   "all_reduce+pipeline+tensor_parallel 2x2x3 microbatches=2 scatter_messages=yes "
                   "recompute=sums",
                   "sharded+tensor_parallel 3x1x2 shard=parameters microbatches=2",
                   "all_reduce+pipeline+tensor_parallel 2x2x2 microbatches=2 "
                   "sequence_parallel=yes"}),
         all);
  append(cases_of("gpt_context 40 ",
                  {"context_parallel 1x1x3", "context_parallel 1x1x4 context_exchange=ulysses",
                   "all_reduce+context_parallel 2x1x2 microbatches=2"}),
         all);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Strategies, Traffic, testing::ValuesIn(cases()),
                         [](const auto& test) { return name_of(test.param); });

TEST(TrafficFormula, RingMovesTwoTimesNMinusOneOverNOfTheGradient) {
  for (const int n : {2, 3, 5}) {
    Trial run = run_case("all_reduce", n);
    const std::int64_t m = parameter_bytes(run);
    std::int64_t sent = 0;
    for (int r = 0; r < n; ++r) {
      sent += run.counted().at(worker(r)).sent;
      // Shares of a bucket differ by at most one element: four bytes in each of two phases.
      EXPECT_NEAR(static_cast<double>(run.counted().at(worker(r)).sent),
                  static_cast<double>(kSteps * 2 * (n - 1) * m) / n, 2.0 * 4 * n * kSteps);
    }
    EXPECT_EQ(sent, kSteps * 2 * (n - 1) * m);
  }
}

/// Per shard and layer: ring 3 (c - 1) blocks of keys and values, ulysses 8 (c - 1) / c of the
/// shard's activations; besides, the gradients' sum and, from the first shard, others' tokens.
TEST(TrafficFormula, ContextParallelSendsKeysAndValuesOrHeads) {
  constexpr std::int64_t kTokens = kBatch * 24, kWidth = 24, kLayers = 2;
  for (const std::int64_t c : {2, 3, 4}) {
    for (const std::string exchange : {"ring", "ulysses"}) {
      Trial run = run_case(case_of("llama_context 40 context_parallel 1x1x" + std::to_string(c) +
                                   " context_exchange=" + exchange));
      const std::int64_t share = kTokens / c * kWidth * 4;  // bytes of a shard's activations
      const std::int64_t exchanged = exchange == "ring" ? kLayers * 3 * (c - 1) * 2 * share
                                                        : kLayers * 8 * (c - 1) * share / c;
      std::int64_t sent = 0;
      for (int s = 0; s < c; ++s) {
        sent += run.counted().at({.replica = 0, .stage = 0, .shard = s}).sent;
      }
      const std::int64_t tokens = (c - 1) * 2 * kTokens / c * 4;
      EXPECT_EQ(sent, kSteps * (c * exchanged + 2 * (c - 1) * parameter_bytes(run) + tokens))
          << exchange << c;
      const std::int64_t last = run.counted().at({.shard = static_cast<int>(c) - 1}).sent;
      EXPECT_NEAR(static_cast<double>(last),
                  static_cast<double>(kSteps * exchanged) +
                      static_cast<double>(kSteps * 2 * (c - 1) * parameter_bytes(run)) /
                          static_cast<double>(c),
                  static_cast<double>(2 * 4 * c * kSteps))
          << exchange << c;
    }
  }
}

/// Blocks of layers are gathered for forward and again for backward, except the last two, which
/// are layer1 and the last norm; the tied table stays, and backward does not read the positions.
/// The square of the norm that clips gradients has 4 bytes.
TEST(TrafficFormula, SharedBlocksAreGatheredTwiceUnlessTheyStay) {
  for (const int n : {2, 3, 4}) {
    for (const std::string reshard : {"yes", "no"}) {
      Trial run = run_case(case_of("gpt_narrow 12 sharded " + std::to_string(n) +
                                   " shard=parameters reshard_after_forward=" + reshard));
      std::int64_t sent = 0, again = 0;
      for (int r = 0; r < n; ++r) sent += run.counted().at(worker(r)).sent;
      for (const auto& [name, values] : run.parameters()) {
        if (name.starts_with("layer0.")) again += static_cast<std::int64_t>(values.size()) * 4;
      }
      if (reshard == "no") again = 0;
      EXPECT_EQ(sent, kSteps * (n - 1) * (2 * (parameter_bytes(run) + 4) + again)) << reshard << n;
    }
  }
}

TEST(TrafficFormula, GossipSendsTheModelAndItsWeightToOnePeer) {
  for (const int n : {2, 3, 5}) {
    Trial run = run_case("gossip", n);
    for (int r = 0; r < n; ++r) {
      EXPECT_EQ(run.counted().at(worker(r)).sent, kSteps * (parameter_bytes(run) + 4)) << n;
      EXPECT_EQ(run.counted().at(worker(r)).received, kSteps * (parameter_bytes(run) + 4)) << n;
    }
  }
}

}  // namespace
}  // namespace regatta::strategies
