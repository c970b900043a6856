// SPDX-License-Identifier: Apache-2.0
//
// Strategies as what they are: a small graph in, text or counts out. No kernels, no threads. Those
// with servers: rewrite_servers_test.cpp; sharded and local_sgd: rewrite_shares_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "kernels/graph/collective.h"
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

/// What --torus and these other options are refused with.
std::string refusal_of_torus(const std::string& strategy, const std::string& sides,
                             OptionValues others) {
  StrategyOptions options = replicas(6);
  options.given = std::move(others);
  options.given["torus"] = sides;
  try {
    rewritten(strategy, options);
  } catch (const RunError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Usage);
    return error.what();
  }
  return "";
}

TEST(AllReduce, TellsTheColumnsOfItsTorusToEveryMember) {
  for (const char* strategy : {"all_reduce", "local_sgd", "diloco", "all_reduce+powersgd"}) {
    StrategyOptions options = replicas(6);
    options.given = {{"all_reduce", "torus"}};
    const auto columns_of = [&](const std::string& sides) {
      if (!sides.empty()) options.given["torus"] = sides;
      std::vector<std::int64_t> all;
      const Graph graph = part(rewritten(strategy, options));
      for (const Node& node : graph.nodes()) {
        if (node.op == Op::AllReduce) all.push_back(torus_columns(node));
      }
      EXPECT_GE(all.size(), 6U);
      EXPECT_EQ(std::count(all.begin(), all.end(), all[0]), std::ssize(all)) << strategy;
      return all[0];
    };
    EXPECT_EQ(columns_of(""), 0) << strategy;
    EXPECT_EQ(columns_of("2x3"), 2) << strategy;
    EXPECT_EQ(columns_of("6x1"), 6) << strategy;
  }
}

TEST(AllReduce, RefusesATorusThatDoesNotFitTheReplicas) {
  for (const char* strategy : {"all_reduce", "local_sgd", "diloco"}) {
    for (const std::string sides : {"4x2", "3x3", "2x2", "12x1", "1x12"}) {
      EXPECT_EQ(refusal_of_torus(strategy, sides, {{"all_reduce", "torus"}}),
                "--torus is " + sides +
                    ", and there are 6 replicas; fix: give columns and rows "
                    "whose product is that");
    }
    EXPECT_EQ(refusal_of_torus(strategy, "3x2", {}),
              "--torus is for --all-reduce torus, and this is ring; fix: leave it out");
  }
}

/// Casts stand behind what makes a gradient, so that the first sums begin beside backward.
TEST(Bf16Compress, CastsEachGradientAsItIsMadeAndEachSumBeforeItsUpdate) {
  StrategyOptions options = replicas(2);
  options.given = {{"bucket_bytes", 0}};
  const Graph graph = part(rewritten("all_reduce+bf16_compress", options));
  EXPECT_EQ(count(graph, Op::AllReduce), 2 * 4);
  EXPECT_EQ(count(graph, Op::Cast), 2 * 2 * 4);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::Sgd) {
      const Node& wide = graph.node(node.inputs[0].node);
      EXPECT_EQ(wide.op, Op::Cast);
      EXPECT_EQ(graph.node(wide.inputs[0].node).op, Op::AllReduce);
    }
    if (node.op != Op::AllReduce) continue;
    EXPECT_EQ(node.outputs[0].element, ElementType::BF16);
    const NodeId narrow = node.inputs[0].node;
    EXPECT_EQ(graph.node(narrow).op, Op::Cast);
    EXPECT_EQ(graph.node(narrow).inputs[0].node, narrow - 1);
  }
  const Graph whole = part(rewritten("all_reduce", replicas(2)));
  EXPECT_EQ(2 * bytes_per_step(graph, 1), bytes_per_step(whole, 1));
}

TEST(Bf16Compress, RewritesTheSumsOfStagesAndMicrobatches) {
  StrategyOptions options = replicas(2);
  options.stages = 2;
  for (const char* strategy :
       {"all_reduce+model_parallel", "model_parallel+all_reduce", "all_reduce+pipeline"}) {
    const Graph whole = part(rewritten(strategy, options));
    const Graph graph = part(rewritten(std::string(strategy) + "+bf16_compress", options));
    EXPECT_EQ(count(graph, Op::AllReduce), 2 * 2) << strategy;
    EXPECT_LT(bytes_per_step(graph, 1), bytes_per_step(whole, 1)) << strategy;
    for (const Node& node : graph.nodes()) {
      if (node.op != Op::AllReduce) continue;
      for (const TensorType& type : node.outputs) EXPECT_EQ(type.element, ElementType::BF16);
    }
  }
}

TEST(Independent, TrainsAModelInEachReplicaAndEveryOtherStrategyOne) {
  for (const Strategy* strategy : all_strategies()) {
    if (strategy->workers == WorkersAre::OfOthers) continue;
    StrategyOptions options = replicas(strategy->workers == WorkersAre::Replicas ? 3 : 1);
    options.stages = share_a_replica(strategy->workers) ? 2 : 1;
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
  EXPECT_EQ(loop_count(rewritten("ad_psgd", replicas(3))), 3U);
  EXPECT_EQ(loop_count(rewritten("independent", replicas(3))), 3U);
}

TEST(AdPsgd, AveragesEveryParameterWithThePeersBeforeTheUpdatesAndSendsNothing) {
  const Graph graph = part(rewritten("ad_psgd", replicas(3)));
  EXPECT_TRUE(traffic(graph).empty());
  EXPECT_EQ(count(graph, Op::Average), 3 * 4);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (node.op != Op::Average) continue;
    EXPECT_EQ(node.variables.size(), 3U);
    EXPECT_EQ(graph.variable(node.variables[0]).place, node.place);
    for (const VariableId v : node.variables) {
      EXPECT_EQ(graph.variable(v).name, graph.variable(node.variables[0]).name);
    }
    for (NodeId before = 0; before < id; ++before) {
      EXPECT_NE(graph.node(before).op, Op::Sgd) << "an update comes before an average";
    }
  }
  EXPECT_EQ(averaged_variables(graph).size(), 3U * 4);
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

TEST(ModelParallel, CutsWhereItsUserSays) {
  const auto bytes_of_second = [](const char* parts) {
    StrategyOptions options;
    options.stages = 2;
    if (*parts != 0) options.given = {{"stage_parts", parts}};
    const Graph graph = part(rewritten("model_parallel", options));
    return traffic(graph).at({.replica = 0, .stage = 1, .role = Role::Worker}).sent;
  };
  EXPECT_EQ(bytes_of_second("1,5"), 50 * 5 * 4);
  EXPECT_EQ(bytes_of_second("5,1"), 50 * 4);  // only the loss is behind the cut
  for (const char* wrong :
       {"6", "5,2", "2,3", "1,4,1", "9223372036854775807,9223372036854775807"}) {
    try {
      bytes_of_second(wrong);
      ADD_FAILURE() << wrong;
    } catch (const RunError& error) {
      EXPECT_STREQ(error.what(),
                   "strategy 'model_parallel' with 2 stages: --stage-parts takes 2 numbers with a "
                   "sum of 6, the parts of this model");
    }
  }
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
  says(why({}, 2, "pipeline+all_reduce"), "already dealt to replicas, microbatches or shards");
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
