// SPDX-License-Identifier: Apache-2.0
//
// Bytes counted at the transport while steps run equal those computed from the graph, place by
// place; and these equal the formulas of the literature.
#include <gtest/gtest.h>

#include "kernels/distribute/traffic.h"
#include "strategies/test_support.h"

namespace regatta::strategies {
namespace {

using testing_support::data_of;
using testing_support::identifier_of;
using testing_support::training_of;
using testing_support::Trial;
using testing_support::TrialOptions;

struct Case {
  std::string strategy;
  std::int64_t replicas = 2;
  std::int64_t stages = 1;
  OptionValues options = {};
  std::int64_t shards = 1;
  std::string workload = "resnet9_narrow";
};

constexpr std::int64_t kSteps = 3;
constexpr std::int64_t kBatch = 40;

Trial run_case(const Case& test) {
  TrialOptions options;
  options.strategy = test.strategy;
  options.options.replicas = test.replicas;
  options.options.stages = test.stages;
  options.options.shards = test.shards;
  options.options.given = test.options;
  options.steps = kSteps;
  return {training_of(test.workload, kBatch, kSteps), data_of(test.workload), options};
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

INSTANTIATE_TEST_SUITE_P(
    Strategies, Traffic,
    testing::Values(
        Case{"in_graph", 3}, Case{"central_storage", 3}, Case{"all_reduce", 2},
        Case{"all_reduce", 3}, Case{"all_reduce", 3, 1, {{"all_reduce", "reduce_to_one"}}},
        Case{"all_reduce", 5, 1, {{"all_reduce", "hierarchical_copy"}}},
        Case{"all_reduce", 4, 1, {{"all_reduce", "double_tree"}}},
        Case{"all_reduce", 4, 1, {{"all_reduce", "torus"}}},
        Case{"all_reduce", 4, 1, {{"all_reduce", "torus"}, {"torus", "1x4"}}},
        Case{"all_reduce+quantized", 3}, Case{"diloco+quantized", 2, 1, {{"bits", 4}}},
        Case{"all_reduce+bf16_compress", 3},
        Case{"all_reduce+bf16_compress", 5, 1, {{"all_reduce", "hierarchical_copy"}}},
        Case{"all_reduce+bf16_compress", 4, 1, {{"all_reduce", "torus"}}}, Case{"sharded", 2},
        Case{"sharded", 3, 1, {{"bucket_bytes", 25'000}}},
        Case{"sharded", 5, 1, {{"shard", "gradients"}}},
        Case{"sharded", 3, 1, {{"shard", "parameters"}, {"bucket_bytes", 25'000}}},
        Case{"sharded", 3, 1, {{"microbatches", 2}, {"shard", "parameters"}}},
        Case{"all_reduce+tensor_parallel", 2, 1, {{"microbatches", 2}}, 2},
        Case{"model_parallel", 1, 3}, Case{"all_reduce+model_parallel", 2, 2},
        Case{"local_sgd", 3, 1, {{"sync_every", 2}}}, Case{"diloco", 3, 1, {{"sync_every", 2}}},
        Case{"diloco", 2, 1, {{"sync_every", 2}, {"fragments", 2}}},
        Case{"diloco", 3, 1, {{"sync_every", 2}, {"delay", 1}}},
        Case{"local_sgd", 2, 1, {{"sync_every", 5}, {"sync_from", 2}}}, Case{"gossip", 3},
        Case{"gossip", 4, 1, {{"overlap", 1}}}, Case{"pipeline", 1, 3, {{"microbatches", 3}}},
        Case{"all_reduce+pipeline", 2, 2, {{"schedule", "zero_bubble"}}},
        Case{"tensor_parallel", 1, 1, {}, 2}, Case{"tensor_parallel", 1, 1, {}, 3},
        Case{"tensor_parallel", 1, 1, {{"all_reduce", "double_tree"}}, 4},
        Case{"all_reduce+tensor_parallel", 2, 1, {{"bucket_bytes", 25'000}}, 2},
        Case{"model_parallel+tensor_parallel", 1, 2, {}, 2},
        Case{"all_reduce+pipeline+tensor_parallel", 2, 2, {{"microbatches", 2}}, 2},
        Case{"tensor_parallel", 1, 1, {}, 3, "gpt_narrow"},
        Case{"all_reduce+pipeline+tensor_parallel", 2, 2, {{"microbatches", 2}}, 2, "gpt_narrow"},
        Case{"tensor_parallel", 1, 1, {{"sequence_parallel", "yes"}}, 2, "gpt_narrow"},
        Case{"all_reduce+pipeline+tensor_parallel",
             2,
             2,
             {{"microbatches", 2}, {"sequence_parallel", "yes"}},
             2,
             "gpt_narrow"},
        Case{"context_parallel", 1, 1, {}, 3, "gpt_context"},
        Case{"context_parallel", 1, 1, {{"context_exchange", "ulysses"}}, 4, "gpt_context"},
        Case{"all_reduce+context_parallel", 2, 1, {{"microbatches", 2}}, 2, "gpt_context"}),
    [](const auto& test) {
      std::string options;
      for (const auto& [name, value] : test.param.options) options += "_" + to_text(value);
      const bool is_language = testing_support::is_language(test.param.workload);
      return (is_language ? "language_" : "") + identifier_of(test.param.strategy) + options + "_" +
             std::to_string(test.param.replicas) + "x" + std::to_string(test.param.stages) +
             (test.param.shards == 1 ? "" : "x" + std::to_string(test.param.shards));
    });

TEST(TrafficFormula, RingMovesTwoTimesNMinusOneOverNOfTheGradient) {
  for (const int n : {2, 3, 5}) {
    Trial run = run_case({"all_reduce", n});
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
    for (const char* exchange : {"ring", "ulysses"}) {
      Trial run = run_case(
          {"context_parallel", 1, 1, {{"context_exchange", exchange}}, c, "llama_context"});
      const std::int64_t share = kTokens / c * kWidth * 4;  // bytes of a shard's activations
      const std::int64_t exchanged = std::string(exchange) == "ring"
                                         ? kLayers * 3 * (c - 1) * 2 * share
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

TEST(TrafficFormula, Bf16CompressSendsHalfOfAllReduce) {
  for (const char* algorithm : {"ring", "reduce_to_one", "hierarchical_copy", "double_tree"}) {
    Trial run = run_case({"all_reduce+bf16_compress", 3, 1, {{"all_reduce", algorithm}}});
    std::int64_t sent = 0;
    for (int r = 0; r < 3; ++r) sent += run.counted().at(worker(r)).sent;
    EXPECT_EQ(2 * sent, kSteps * 2 * 2 * parameter_bytes(run)) << algorithm;
  }
}

/// Blocks of layers are gathered for forward and again for backward, except the last two, which
/// are layer1 and the last norm; the tied table stays, and backward does not read the positions.
/// The square of the norm that clips gradients has 4 bytes.
TEST(TrafficFormula, SharedBlocksAreGatheredTwiceUnlessTheyStay) {
  for (const int n : {2, 3, 4}) {
    for (const std::string reshard : {"yes", "no"}) {
      TrialOptions options;
      options.strategy = "sharded";
      options.options.replicas = n;
      options.options.given = {{"shard", "parameters"}, {"reshard_after_forward", reshard}};
      options.steps = kSteps;
      Trial run(training_of("gpt_narrow", 12, kSteps), data_of("gpt_narrow"), options);
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
    Trial run = run_case({"gossip", n});
    for (int r = 0; r < n; ++r) {
      EXPECT_EQ(run.counted().at(worker(r)).sent, kSteps * (parameter_bytes(run) + 4)) << n;
      EXPECT_EQ(run.counted().at(worker(r)).received, kSteps * (parameter_bytes(run) + 4)) << n;
    }
  }
}

TEST(TrafficFormula, ReduceToOneLoadsTheRootWithNMinusOneGradients) {
  Trial run = run_case({"all_reduce", 3, 1, {{"all_reduce", "reduce_to_one"}}});
  const std::int64_t m = parameter_bytes(run);
  EXPECT_EQ(run.counted().at(worker(0)).received, kSteps * 2 * m);
  EXPECT_EQ(run.counted().at(worker(0)).sent, kSteps * 2 * m);
  EXPECT_EQ(run.counted().at(worker(2)).sent, kSteps * m);
}

TEST(TrafficFormula, HierarchicalCopyMovesTwoTimesNMinusOneGradientsForOddNToo) {
  for (const int n : {3, 4, 5}) {
    Trial run = run_case({"all_reduce", n, 1, {{"all_reduce", "hierarchical_copy"}}});
    std::int64_t sent = 0;
    for (int r = 0; r < n; ++r) {
      sent += run.counted().at(worker(r)).sent;
      EXPECT_GT(run.counted().at(worker(r)).sent, 0) << "replica " << r << "'s gradient is lost";
    }
    EXPECT_EQ(sent, kSteps * 2 * (n - 1) * parameter_bytes(run));
  }
}

TEST(TrafficFormula, CentralStorageSendsEveryReplicaTheModelAndItsInput) {
  Trial run = run_case({"central_storage", 3});
  const std::int64_t m = parameter_bytes(run);
  const std::int64_t input = kBatch * (32 * 32 * 3 * 4 + 4);
  const Place host{.replica = 0, .stage = 0, .role = Role::Host};
  EXPECT_EQ(run.counted().at(host).sent, kSteps * (3 * m + input));
  EXPECT_EQ(run.counted().at(host).received, kSteps * 3 * m);
}

TEST(TrafficFormula, InGraphSparesReplicaZeroItsOwnCopy) {
  Trial run = run_case({"in_graph", 5});
  const std::int64_t m = parameter_bytes(run);
  const std::int64_t input = kBatch / 5 * 4 * (32 * 32 * 3 * 4 + 4);
  EXPECT_EQ(run.counted().at(worker(0)).sent, kSteps * (4 * m + input));
  EXPECT_EQ(run.counted().at(worker(0)).received, kSteps * 4 * m);
  EXPECT_EQ(run.counted().at(worker(4)).sent, kSteps * m);
}

}  // namespace
}  // namespace regatta::strategies
