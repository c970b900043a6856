// SPDX-License-Identifier: Apache-2.0
//
// Strategies as rewrites: a small graph in, text or counts out. No kernels, no threads. Strategies
// with servers, shares, stages, channels or several loops are in the other rewrite_*_test files.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "kernels/base/error_for_test.h"
#include "kernels/distribute/partition.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/text.h"
#include "strategies/rewritten_for_test.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;

TEST(Single, ChangesNothing) {
  EXPECT_EQ(to_text(rewritten("single", replicas(1)).graph), to_text(parabola().graph));
}

TEST(AllReduce, PutsOneCollectiveForTheBucketBetweenGradientsAndUpdates) {
  const Graph graph = part(rewritten("all_reduce", replicas(2)));
  EXPECT_EQ(count(graph, Op::AllReduce), 2);  // one bucket, two members
  EXPECT_EQ(count(graph, Op::Sgd), 2 * 4);
  EXPECT_EQ(count(graph, Op::Copy), 0);
  const std::string text = to_text(graph);
  EXPECT_NE(text.find("{algorithm=ring, between=replicas, group=0, member=1, members=2} f32[1] "
                      "f32[1,5] f32[5] f32[5,1] @replica1 communication output"),
            std::string::npos)
      << text;
}

/// The message that refuses --torus with these other options.
std::string refusal_of_torus(const std::string& strategy, const std::string& sides,
                             OptionValues others) {
  StrategyOptions options = replicas(6);
  options.given = std::move(others);
  options.given["torus"] = sides;
  return error_of([&] { rewritten(strategy, options); }, ErrorKind::Usage);
}

TEST(AllReduce, TellsTheSidesOfItsTorusToEveryMember) {
  for (const char* strategy : {"all_reduce", "local_sgd", "diloco", "all_reduce+powersgd"}) {
    StrategyOptions options = replicas(6);
    options.given = {{"all_reduce", "torus"}};
    const auto algorithm_of = [&](const std::string& sides) {
      if (!sides.empty()) options.given["torus"] = sides;
      std::vector<std::string> all;
      const Graph graph = part(rewritten(strategy, options));
      for (const Node& node : graph.nodes()) {
        if (node.op == Op::AllReduce) all.push_back(node.attributes.text("algorithm"));
      }
      EXPECT_GE(all.size(), 6U);
      EXPECT_EQ(std::count(all.begin(), all.end(), all[0]), std::ssize(all)) << strategy;
      return all[0];
    };
    EXPECT_EQ(algorithm_of(""), "torus") << strategy;
    EXPECT_EQ(algorithm_of("2x3"), "torus_2x3") << strategy;
    EXPECT_EQ(algorithm_of("6x1"), "torus_6x1") << strategy;
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

/// Casts follow the nodes that make the gradients, so that the first sums run in parallel with
/// backward.
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
    if (strategy->workers == WorkersAre::ThoseOfPrevious || strategy->trains != Trains::All)
      continue;
    StrategyOptions options = replicas(strategy->workers == WorkersAre::Replicas ? 3 : 1);
    options.stages = options.shards = share_a_replica(strategy->workers) ? 2 : 1;
    const Step step = rewritten(std::string(strategy->name), options);
    const int expected = strategy->exchange == Exchange::Nothing ? 3 : 1;
    const Step whole = partitioned(step, Binding{}).front();
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
  // Shares of the parabola's 50 points are 17, 17, 16; replica 0 keeps its own.
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

TEST(Strategies, MoreWorkersThanExamplesAreRefused) {
  EXPECT_THROW(rewritten("all_reduce", replicas(51)), RunError);
  EXPECT_THROW(rewritten("in_graph", replicas(0)), RunError);
  EXPECT_NO_THROW(rewritten("all_reduce", replicas(50)));
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
    for (const Step& part : partitioned(rewritten("all_reduce", replicas(n)), binding)) {
      largest = std::max(largest, part.graph.nodes().size());
    }
    return largest;
  };
  EXPECT_EQ(largest_part(2), largest_part(8));
}

}  // namespace
}  // namespace regatta::strategies
