// SPDX-License-Identifier: Apache-2.0
//
// Strategies as what they are: a small graph in, text or counts out. No kernels, no threads. Those
// with servers: rewrite_servers_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "kernels/graph/error.h"
#include "kernels/graph/expiry.h"
#include "kernels/graph/partition.h"
#include "kernels/graph/period.h"
#include "kernels/graph/text.h"
#include "kernels/graph/traffic.h"
#include "strategies/rewritten_for_test.h"

namespace regatta {
namespace {

using testing_support::count;
using testing_support::kHost;
using testing_support::kParabolaBytes;
using testing_support::kParabolaInputBytes;
using testing_support::kWorker0;
using testing_support::kWorker1;
using testing_support::loop_count;
using testing_support::parabola;
using testing_support::part;
using testing_support::replicas;
using testing_support::rewritten;

TEST(Single, ChangesNothing) {
  EXPECT_EQ(to_text(rewritten("single", replicas(1)).graph), to_text(parabola().graph));
}

TEST(AllReduce, PutsOneCollectiveForTheBucketBetweenGradientsAndUpdates) {
  const Graph graph = part(rewritten("all_reduce", replicas(2)));
  EXPECT_EQ(count(graph, Op::AllReduce), 2);  // one bucket, two members
  EXPECT_EQ(count(graph, Op::Sgd), 2 * 4);
  EXPECT_EQ(count(graph, Op::Copy), 0);
  const std::string text = to_text(graph);
  EXPECT_NE(text.find("{algorithm=ring, group=0, member=1, members=2} f32[1] f32[1,5] f32[5] "
                      "f32[5,1] @replica1 communication output"),
            std::string::npos)
      << text;
}

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

/// The bucket has 16 elements, from the last layer to the first: output bias 1 and weights 5,
/// hidden bias 5 and weights 5. Worker 0 keeps its last share.
TEST(Sharded, KeepsAndUpdatesTheSharesOfTheRing) {
  for (const char* shard : {"optimizer", "gradients", "parameters"}) {
    StrategyOptions options = replicas(2);
    options.given["shard"] = shard;
    const Graph graph = part(rewritten("sharded", options));
    EXPECT_EQ(count(graph, Op::AllReduce), 0);
    EXPECT_EQ(count(graph, Op::ReduceScatter), 2);
    EXPECT_EQ(count(graph, Op::AllGather), 2);  // backward begins with the only bucket
    EXPECT_EQ(count(graph, Op::Sgd), 2 + 3);    // the hidden bias is of both
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

/// With buckets of one gradient, those of the four variables.
TEST(Sharded, AppliesABucketsSumsWhileBackwardMakesTheNext) {
  StrategyOptions options = replicas(2);
  options.given["bucket_bytes"] = 0;
  const auto turns = [&](const char* shard) {
    options.given["shard"] = shard;
    std::string text;  // of replica 1: b backward, s sums, u updates, each run of them once
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

/// Forward of four variables, of which backward reads the output's weights alone.
TEST(Sharded, GathersABucketsParametersWhileTheOneBeforeIsUsed) {
  StrategyOptions options = replicas(2);
  options.given["bucket_bytes"] = 0;
  options.given["shard"] = "parameters";
  std::string text;  // of replica 0: f forward, b backward, g gathers; runs of f and b once
  const Step step = rewritten("sharded", options);
  for (const Node& node : step.graph.nodes()) {
    if (node.place != kWorker0 || op_info(node.op).view) continue;
    if (node.op != Op::AllGather && node.phase != Phase::Forward && node.phase != Phase::Backward) {
      continue;
    }
    const char turn = node.op == Op::AllGather ? 'g' : node.phase == Phase::Forward ? 'f' : 'b';
    if (turn == 'g' || text.empty() || text.back() != turn) text += turn;
  }
  EXPECT_EQ(text, "ggfgfgfgfb");
}

/// Of airbench94's whitening bias, which is trained for some epochs: the backward nodes that make
/// its gradient, at all workers, whichever has its sums.
TEST(Sharded, RestsWhereAllReduceDoes) {
  Recipe recipe;
  recipe.global_batch = 1024;
  recipe.train_examples = 50'000;
  recipe.total_examples = 500'000;
  const Step step = find_workload("airbench94").training(recipe);
  const auto resting = [&](const char* strategy) {
    const Step placed = apply(find_strategies(strategy), step, replicas(3));
    const std::vector<std::int64_t> all = expiries(placed);
    std::vector<std::string> text;
    for (std::size_t id = 0; id < all.size(); ++id) {
      const Node& node = placed.graph.nodes()[id];
      if (all[id] == kNever || node.phase == Phase::Update) continue;
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
                               "sharded+model_parallel", "sharded+pipeline"}) {
    for (const int n : {1, 2}) {
      StrategyOptions options = replicas(n);
      options.stages = 2;
      EXPECT_THROW(rewritten(composed, options), RunError) << composed << ' ' << n;
    }
  }
}

TEST(Independent, TrainsAModelInEachReplicaAndEveryOtherStrategyOne) {
  for (const Strategy* strategy : all_strategies()) {
    if (strategy->workers == WorkersAre::OfOthers) continue;
    StrategyOptions options = replicas(strategy->workers == WorkersAre::Replicas ? 3 : 1);
    const Step step = rewritten(std::string(strategy->name), options);
    const int expected = strategy->exchange == Exchange::Nothing ? 3 : 1;
    const Step whole = partition(step, Binding{}).front();
    EXPECT_EQ(whole.partition.models, expected) << strategy->name;
    for (VariableId v = 0; v < static_cast<VariableId>(whole.graph.variables().size()); ++v) {
      const int replica = whole.graph.variable(v).place.replica;
      EXPECT_EQ(whole.partition.model(v), expected == 1 ? 0 : replica) << strategy->name;
    }
  }
}

TEST(AllReduce, DealsFiftyPointsToThreeReplicasAs17_17_16) {
  std::vector<std::int64_t> batches;
  const Step step = rewritten("all_reduce", replicas(3));
  for (const Node& node : step.graph.nodes()) {
    if (node.op == Op::Input) batches.push_back(node.attributes.integer("batch"));
  }
  EXPECT_EQ(batches, (std::vector<std::int64_t>{17, 17, 16}));
}

TEST(InGraph, CopiesParametersOutAndGradientsBack) {
  const auto bytes = traffic(part(rewritten("in_graph", replicas(3))));
  // The parabola's 50 points are dealt as 17, 17, 16; replica 0 keeps its own.
  const std::int64_t input = kParabolaInputBytes * 33 / 50;
  EXPECT_EQ(bytes.at(kWorker0).sent, 2 * kParabolaBytes + input);
  EXPECT_EQ(bytes.at(kWorker0).received, 2 * kParabolaBytes);
  EXPECT_EQ(bytes.at(kWorker1).sent, kParabolaBytes);
}

TEST(CentralStorage, KeepsParametersAndUpdateOnTheHost) {
  const Graph graph = part(rewritten("central_storage", replicas(2)));
  for (const Node& node : graph.nodes()) {
    if (node.op != Op::Sgd) continue;
    EXPECT_EQ(node.place, kHost);
  }
  const auto bytes = traffic(graph);
  EXPECT_EQ(bytes.at(kHost).sent, 2 * kParabolaBytes + kParabolaInputBytes);
  EXPECT_EQ(bytes.at(kHost).received, 2 * kParabolaBytes);
  EXPECT_EQ(bytes.at(kWorker1).sent, kParabolaBytes);
}

TEST(Independent, SendsNothing) {
  EXPECT_TRUE(traffic(part(rewritten("independent", replicas(4)))).empty());
}

TEST(Loops, AreOneForSynchronousAndOneAReplicaForAsynchronousStrategies) {
  EXPECT_EQ(loop_count(rewritten("in_graph", replicas(3))), 1U);
  EXPECT_EQ(loop_count(rewritten("central_storage", replicas(3))), 1U);
  EXPECT_EQ(loop_count(rewritten("all_reduce", replicas(3))), 1U);
  EXPECT_EQ(loop_count(rewritten("async_shared", replicas(3))), 3U);
  EXPECT_EQ(loop_count(rewritten("independent", replicas(3))), 3U);
}

/// Lookahead has no input and no output: it goes with the update of its parameter.
TEST(Loops, HoldTheLookaheadOfTheirReplica) {
  Recipe recipe;
  recipe.global_batch = 256;
  recipe.train_examples = 256;
  recipe.total_examples = 2560;
  const Step step = find_workload("airbench94").training(recipe);
  for (const char* name : {"all_reduce", "in_graph"}) {
    EXPECT_EQ(loop_count(apply(find_strategies(name), step, replicas(2))), 1U) << name;
  }
  const Step placed = apply(find_strategies("async_shared"), step, replicas(2));
  EXPECT_EQ(loop_count(placed), 2U);
  EXPECT_EQ(count(placed.graph, Op::Lookahead), 2 * count(step.graph, Op::Lookahead));
}

TEST(AsyncShared, SendsNothing) {
  const Graph graph = part(rewritten("async_shared", replicas(3)));
  EXPECT_TRUE(traffic(graph).empty());
  EXPECT_EQ(count(graph, Op::Copy), 0);
}

TEST(AsyncShared, WeighsDecayByTheShareOfTheBatch) {
  const Step step = rewritten("async_shared", replicas(3));
  double sum = 0;
  for (const Node& node : step.graph.nodes()) {
    if (node.op == Op::Sgd && node.layer == "hidden") sum += node.attributes.real("weight");
  }
  EXPECT_NEAR(sum, 2.0, 1e-12);  // weight and bias, each 17/50 + 17/50 + 16/50
}

TEST(ModelParallel, CutsBetweenLayersAndSendsActivationsForwardAndBack) {
  StrategyOptions options;
  options.stages = 2;
  const Graph graph = part(rewritten("model_parallel", options));
  const auto bytes = traffic(graph);
  const Place second{.replica = 0, .stage = 1, .role = Role::Worker};
  // Cut after the hidden layer: 5 activations a point, and the targets for the loss.
  EXPECT_EQ(bytes.at(kWorker0).sent, 50 * 5 * 4 + 50 * 4);
  EXPECT_EQ(bytes.at(second).sent, 50 * 5 * 4);
}

TEST(ModelParallel, RefusesMoreStagesThanParts) {
  StrategyOptions options;
  options.stages = 7;
  EXPECT_THROW(rewritten("model_parallel", options), RunError);
}

TEST(Composition, StagesOfAllReducedReplicasExchangeTheirOwnGradients) {
  StrategyOptions options = replicas(2);
  options.stages = 2;
  const Graph graph = part(rewritten("all_reduce+model_parallel", options));
  EXPECT_EQ(count(graph, Op::AllReduce), 2 * 2);  // a bucket a stage, two members each
  const Graph other = part(rewritten("model_parallel+all_reduce", options));
  EXPECT_EQ(count(other, Op::AllReduce), 2 * 2);
  EXPECT_EQ(bytes_per_step(graph, 1), bytes_per_step(other, 1));
}

TEST(Composition, OfTwoThatDealTheBatchOutIsRefusedByName) {
  try {
    rewritten("all_reduce+in_graph", replicas(2));
    FAIL();
  } catch (const RunError& error) {
    EXPECT_NE(std::string(error.what()).find("strategy 'in_graph' cannot be applied"),
              std::string::npos);
  }
}

TEST(Pipeline, CutsTheBatchAndAddsGradientsUp) {
  StrategyOptions options;
  options.stages = 2;
  options.given = {{"microbatches", 3}};
  const Step step = rewritten("pipeline", options);
  EXPECT_EQ(count(step.graph, Op::Input), 1);
  EXPECT_EQ(count(step.graph, Op::DenseBackwardWeights), 2 * 3);
  EXPECT_EQ(count(step.graph, Op::Sum), (4 + 1) * 2);  // four parameters and the loss
  EXPECT_EQ(count(step.graph, Op::Sgd), 4);
  EXPECT_EQ(step.losses.size(), 1U);
  // The same bytes as without microbatches.
  const Place second{.replica = 0, .stage = 1, .role = Role::Worker};
  EXPECT_EQ(traffic(part(step)).at(second).sent, 50 * 5 * 4);
}

TEST(Pipeline, RefusesWhatItCannotCutNamingWhatCanBe) {
  const auto why = [](OptionValues given, std::int64_t stages, const char* name = "pipeline") {
    StrategyOptions options = replicas(2);
    options.stages = stages;
    options.given = std::move(given);
    try {
      rewritten(name, options);
    } catch (const RunError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  const auto says = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(why({{"microbatches", 51}}, 2), "1 to 50 are possible");
  says(why({{"chunks", 2}}, 2), "--chunks is an option of --schedule interleaved");
  says(why({{"schedule", "interleaved"}, {"microbatches", 5}}, 2), "a multiple of 2");
  says(why({{"schedule", "interleaved"}}, 4), "4 stages of 2 chunks: this model has 6 parts");
  says(why({}, 7), "1 to 6 stages are possible");
  says(why({}, 2, "pipeline+all_reduce"), "already dealt to replicas or microbatches");
  says(why({}, 2, "model_parallel+pipeline"), "has stages already");
}

TEST(Strategies, MoreWorkersThanExamplesAreRefused) {
  EXPECT_THROW(rewritten("all_reduce", replicas(51)), RunError);
  EXPECT_THROW(rewritten("in_graph", replicas(0)), RunError);
  EXPECT_NO_THROW(rewritten("all_reduce", replicas(50)));
}

TEST(Strategies, AnUnknownNameOffersTheNearest) {
  try {
    find_strategies("al_reduce");
    FAIL();
  } catch (const RunError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'all_reduce'?"), std::string::npos);
  }
}

TEST(GraphSize, GrowsWithWorkersInGraphAndNotPerProcessBetweenGraphs) {
  const auto in_graph = [](std::int64_t n) {
    return part(rewritten("in_graph", replicas(n))).nodes().size();
  };
  EXPECT_GT(in_graph(4), 2 * in_graph(2) - 30);
  const auto largest_part = [](std::int64_t n) {
    const Binding binding{.processes = static_cast<int>(n),
                          .process_of = [](const Place& place) { return place.replica; }};
    std::size_t largest = 0;
    for (const Step& part : partition(rewritten("all_reduce", replicas(n)), binding)) {
      largest = std::max(largest, part.graph.nodes().size());
    }
    return largest;
  };
  EXPECT_EQ(largest_part(2), largest_part(8));
}

}  // namespace
}  // namespace regatta
