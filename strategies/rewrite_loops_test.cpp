// SPDX-License-Identifier: Apache-2.0
//
// Rewrites of strategies in which each replica is a loop: independent, async_shared, ad_psgd; and
// the averages of ad_psgd between processes (kernels/distribute/averages_between.h).
#include <gtest/gtest.h>

#include <map>

#include "kernels/base/error.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/period.h"
#include "strategies/rewritten_for_test.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;

std::int64_t judged_by_mean(const Graph& graph) {
  return std::count_if(
      graph.variables().begin(), graph.variables().end(),
      [](const Variable& variable) { return variable.judged_by() == Judged::Mean; });
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

TEST(AdPsgd, AveragesEveryParameterOfEverySecondReplicaWithThePeersAndSendsNothing) {
  const Graph graph = part(rewritten("ad_psgd", replicas(5)));
  EXPECT_TRUE(traffic(graph).empty());
  EXPECT_EQ(count(graph, Op::Average), 3 * 4);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (node.op != Op::Average) continue;
    EXPECT_EQ(node.variables.size(), 3U);
    EXPECT_EQ(graph.variable(node.variables[0]).place, node.place);
    EXPECT_EQ(node.place.replica % 2, 0);
    for (std::size_t v = 0; v < 3; ++v) {
      const Variable& variable = graph.variable(node.variables[v]);
      EXPECT_EQ(variable.name, graph.variable(node.variables[0]).name);
      EXPECT_EQ(variable.place.replica, v > 0 ? 2 * static_cast<int>(v) - 1 : node.place.replica);
    }
    for (NodeId before = 0; before < id; ++before) {
      EXPECT_NE(graph.node(before).op, Op::Sgd) << "an update comes before an average";
    }
  }
  EXPECT_EQ(judged_by_mean(graph), 5 * 4);
}

/// The parts of ad_psgd. `of`: the process of each replica.
std::vector<Step> ad_psgd_over(const std::vector<int>& of) {
  Binding binding;
  binding.processes = of.back() + 1;
  binding.process_of = [&](const Place& place) {
    return of[static_cast<std::size_t>(place.replica)];
  };
  return partitioned(rewritten("ad_psgd", replicas(std::ssize(of))), binding);
}

TEST(AdPsgd, OverProcessesLeadsAllLoopsFromTheFirst) {
  for (const std::vector<int>& of : {std::vector{0, 1}, {0, 0, 1, 1}, {0, 1, 2, 3, 4}}) {
    const std::vector<Step> parts = ad_psgd_over(of);
    EXPECT_EQ(std::ssize(parts[0].partition.parts), std::ssize(of));
    for (const Step& part : parts) {
      EXPECT_EQ(part.partition.loops, std::ssize(of));
      EXPECT_EQ(part.partition.models, 1);
      for (const LoopPart& loop : part.partition.parts) EXPECT_EQ(loop.processes.front(), 0);
    }
  }
}

/// Replica 0 averages with 1 (in its process) and 3; replica 2 with 1 and 3 (in its process).
TEST(AdPsgd, AveragesByMessagesInTheStepsOfADrawOfAPeerElsewhere) {
  const std::vector<Step> parts = ad_psgd_over({0, 0, 1, 1});
  std::map<std::string, std::int64_t> counts;
  for (const Step& part : parts) {
    for (const Node& node : part.graph.nodes()) {
      if (node.op == Op::Average) {
        EXPECT_EQ(node.variables.size(), 2U);
        EXPECT_TRUE(period_of(node).draw);
        ++counts["in " + to_string(node.place)];
      } else if (node.op == Op::AverageWith || node.op == Op::Assign) {
        EXPECT_EQ(period_of(node).draw->replica, node.place.replica);
        EXPECT_EQ(period_of(node).draw->peers, 2);
        ++counts[std::string(to_string(node.op)) + ' ' + to_string(node.place)];
      }
    }
  }
  EXPECT_EQ(counts, (std::map<std::string, std::int64_t>{{"in replica0", 4},
                                                         {"in replica2", 4},
                                                         {"average_with peer3.replica0", 4},
                                                         {"average_with peer1.replica2", 4},
                                                         {"assign replica0", 4},
                                                         {"assign replica2", 4}}));
  EXPECT_EQ(judged_by_mean(parts[0].graph), 2 * 4);
}

/// The active replica's parameters travel there and back; the losses of replicas outside the first
/// process travel to it.
TEST(AdPsgd, SendsItsParametersAndTakesTheMeans) {
  constexpr std::int64_t kSteps = 100;
  TrafficByPlace sum;
  for (const Step& part : ad_psgd_over({0, 1})) add(sum, traffic(part.graph, kSteps));
  const Place at_peer{.replica = 0, .stage = 1, .role = Role::Peer};
  EXPECT_EQ(sum.at(kWorker0).sent, kSteps * kParabolaBytes);
  EXPECT_EQ(sum.at(kWorker0).received, kSteps * kParabolaBytes);
  EXPECT_EQ(sum.at(at_peer).sent, kSteps * kParabolaBytes);
  EXPECT_EQ(sum.at(kWorker1).sent, kSteps * 4);
  sum.clear();
  for (const Step& part : ad_psgd_over({0, 1, 2, 3})) add(sum, traffic(part.graph, kSteps));
  EXPECT_EQ(sum.at(kWorker0).sent, kSteps * kParabolaBytes);  // to one peer or the other
  std::int64_t by_peers = 0;
  for (const int peer : {1, 3}) {
    const std::int64_t sent = sum.at({.replica = 0, .stage = peer, .role = Role::Peer}).sent;
    EXPECT_GT(sent, kSteps * kParabolaBytes / 4);
    by_peers += sent;
  }
  EXPECT_EQ(by_peers, kSteps * kParabolaBytes);
}

TEST(AdPsgd, OfReplicasWhoseStagesAreInSeveralProcessesIsRefused) {
  StrategyOptions options = replicas(2);
  options.stages = 2;
  Binding binding;
  binding.processes = 4;
  binding.process_of = [](const Place& place) { return 2 * place.replica + place.stage; };
  EXPECT_THROW(partitioned(rewritten("ad_psgd+model_parallel", options), binding), RunError);
  binding.processes = 2;
  binding.process_of = [](const Place& place) { return place.replica; };
  EXPECT_EQ(partitioned(rewritten("ad_psgd+model_parallel", options), binding).size(), 2U);
}

/// Lookahead has no input and no output: it belongs to the loop of its parameter's update.
TEST(Loops, HoldTheLookaheadOfTheirReplica) {
  workloads::Recipe recipe;
  recipe.global_batch = 256;
  recipe.train_examples = 256;
  recipe.total_examples = 2560;
  const Step step = workloads::find_workload("airbench94").training(recipe);
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

}  // namespace
}  // namespace regatta::strategies
