// SPDX-License-Identifier: Apache-2.0
//
// Graphs of strategies that divide all_reduce or run it less often: sharded, local_sgd, diloco.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "kernels/base/error.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/expiry.h"
#include "kernels/graph/period.h"
#include "strategies/rewritten_for_test.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;

TEST(LocalSgd, AveragesParametersBehindTheUpdatesInEveryFourthStep) {
  const Graph graph = part(rewritten("local_sgd", replicas(2)));
  EXPECT_EQ(count(graph, Op::AllReduce), 2);  // one bucket, two members
  EXPECT_EQ(count(graph, Op::Assign), 2 * 4);
  NodeId last_update = 0, first_average = 0;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::Sgd) last_update = id;
    if (node.op == Op::AllReduce && first_average == 0) first_average = id;
    const bool averages = node.op == Op::AllReduce || node.op == Op::Assign;
    if (averages) {
      EXPECT_EQ(period_of(node), (Period{.every = 4})) << id;
    } else if (node.op == Op::Sgd) {
      EXPECT_EQ(period_of(node), Period{}) << id;
    }
  }
  EXPECT_LT(last_update, first_average);
  EXPECT_EQ(bytes_per_step(graph, 8), 2 * 2 * kParabolaBytes / 2 * 2 / 8.0);
  EXPECT_EQ(bytes_per_step(graph, 3), 0);
}

TEST(LocalSgd, DiffersInStepsFromAllReduceOnly) {
  StrategyOptions options = replicas(2);
  options.given["sync_every"] = 1;
  EXPECT_EQ(bytes_per_step(part(rewritten("local_sgd", options)), 5),
            bytes_per_step(part(rewritten("all_reduce", replicas(2))), 5));
}

/// Fragments of 10 and 6 of the 16 elements.
TEST(Diloco, SendsTheSameBytesInFragmentsAndLessInAStep) {
  StrategyOptions options = replicas(2);
  options.given = {{"sync_every", 8}};
  const Graph whole = part(rewritten("diloco", options));
  options.given["fragments"] = 2;
  const Graph fragments = part(rewritten("diloco", options));
  options.given["delay"] = 3;
  const Graph late = part(rewritten("diloco", options));
  EXPECT_EQ(bytes_sent(whole, 8), 2 * kParabolaBytes);
  EXPECT_EQ(bytes_sent(fragments, 8), bytes_sent(whole, 8));
  EXPECT_EQ(bytes_sent(fragments, 4), 2 * 40);
  EXPECT_EQ(bytes_sent(late, 4), 0);
  EXPECT_EQ(bytes_sent(late, 5), 2 * 40);
  EXPECT_EQ(bytes_sent(late, 9), bytes_sent(whole, 9));
  EXPECT_EQ(most_sent_in_a_step(whole, 16).at(kWorker0), kParabolaBytes);
  EXPECT_EQ(most_sent_in_a_step(fragments, 16).at(kWorker0), 40);
}

TEST(Diloco, ExchangesBesideAStepWhatIsAppliedLater) {
  StrategyOptions options = replicas(2);
  options.given = {{"delay", 3}};
  const Graph graph = part(rewritten("diloco", options));
  NodeId last_exchange = 0, first_forward = 0;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::AllReduce) {
      last_exchange = id;
      EXPECT_EQ(period_of(node), (Period{.every = 4, .lag = 1}));
    }
    if (node.op == Op::Input && first_forward == 0) first_forward = id;
  }
  EXPECT_GT(last_exchange, 0);
  EXPECT_LT(last_exchange, first_forward);
}

/// The bucket has 16 elements, from the last layer to the first: output bias 1 and weights 5,
/// hidden bias 5 and weights 5. Worker 0 keeps its last share.
TEST(Sharded, KeepsAndUpdatesTheSharesOfTheRing) {
  for (const char* shard : {"optimizer", "gradients"}) {
    StrategyOptions options = replicas(2);
    options.given["shard"] = shard;
    const Graph graph = part(rewritten("sharded", options));
    EXPECT_EQ(count(graph, Op::AllReduce), 0);
    EXPECT_EQ(count(graph, Op::ReduceScatter), 2);
    EXPECT_EQ(count(graph, Op::AllGather), 2);
    EXPECT_EQ(count(graph, Op::Sgd), 2 + 3);  // both have a part of the hidden bias
    std::vector<std::string> kept;
    for (const Variable& variable : graph.variables()) {
      if (variable.kind != VariableKind::Parameter) continue;
      kept.push_back(to_string(variable.place) + ' ' + variable.name + ' ' +
                     to_string(variable.type));
    }
    std::sort(kept.begin(), kept.end());
    EXPECT_EQ(kept, (std::vector<std::string>{
                        "replica0 hidden.bias[2:5] f32[3]", "replica0 hidden.weight f32[5,1]",
                        "replica1 hidden.bias[0:2] f32[2]", "replica1 output.bias f32[1]",
                        "replica1 output.weight f32[1,5]"}));
  }
}

TEST(Sharded, MovesTheBytesOfTheRing) {
  for (const int n : {1, 2, 3, 5}) {
    const auto ring = traffic(part(rewritten("all_reduce", replicas(n))));
    const auto shares = traffic(part(rewritten("sharded", replicas(n))));
    ASSERT_EQ(ring.size(), shares.size());
    for (const auto& [place, expected] : ring) {
      EXPECT_EQ(shares.at(place).sent, expected.sent) << to_string(place);
      EXPECT_EQ(shares.at(place).received, expected.received) << to_string(place);
      EXPECT_EQ(shares.at(place).messages, expected.messages) << to_string(place);
    }
  }
}

/// With one bucket for each of the four variables' gradients.
TEST(Sharded, AppliesABucketsSumsWhileBackwardMakesTheNext) {
  StrategyOptions options = replicas(2);
  options.given["bucket_bytes"] = 0;
  const auto turns = [&](const char* shard) {
    options.given["shard"] = shard;
    std::string text;  // replica 1: b backward, s sums, u updates, each run of them once
    const Step step = rewritten("sharded", options);
    for (const Node& node : step.graph.nodes()) {
      if (node.place != kWorker1 || node.phase <= Phase::Forward) continue;
      if (node.op == Op::AllGather) continue;
      const char turn = node.op == Op::ReduceScatter  ? 's'
                        : node.phase == Phase::Update ? 'u'
                                                      : 'b';
      if (text.empty() || text.back() != turn) text += turn;
    }
    return text;
  };
  EXPECT_EQ(turns("optimizer"), "bsu");
  EXPECT_EQ(turns("gradients").substr(0, 6), "bsbsub");
}

/// airbench94's whitening bias is trained for some epochs only; then the backward nodes that make
/// its gradient rest at all workers, whichever has its sums.
TEST(Sharded, RestsWhereAllReduceDoes) {
  workloads::Recipe recipe;
  recipe.global_batch = 1024;
  recipe.train_examples = 50'000;
  recipe.total_examples = 500'000;
  const Step step = workloads::find_workload("airbench94").training(recipe);
  const auto resting = [&](const char* strategy) {
    const Step placed = apply(find_strategies(strategy), step, replicas(3));
    const std::vector<std::int64_t> all = expiries(placed);
    std::vector<std::string> text;
    for (std::size_t id = 0; id < all.size(); ++id) {
      const Node& node = placed.graph.nodes()[id];
      if (all[id] == kNeverExpires || node.phase == Phase::Update) continue;
      text.push_back(to_string(node.place) + ' ' + std::string(to_string(node.op)) + ' ' +
                     node.layer + ' ' + std::to_string(all[id]));
    }
    return text;
  };
  EXPECT_GE(resting("all_reduce").size(), 3U);
  EXPECT_EQ(resting("sharded"), resting("all_reduce"));
}

TEST(Sharded, IsTheOnlyOneThatDealsOutTheStep) {
  for (const char* composed : {"sharded+all_reduce", "all_reduce+sharded", "sharded+sharded",
                               "pipeline+sharded", "sharded+bf16_compress"}) {
    for (const int n : {1, 2}) {
      StrategyOptions options = replicas(n);
      options.stages = 2;
      EXPECT_THROW(rewritten(composed, options), RunError) << composed << ' ' << n;
    }
  }
}

}  // namespace
}  // namespace regatta::strategies
