// SPDX-License-Identifier: Apache-2.0
//
// Strategies as rewrites whose replicas are loops of their own: independent, async_shared, ad_psgd.
#include <gtest/gtest.h>

#include "kernels/graph/period.h"
#include "kernels/graph/traffic.h"
#include "strategies/rewritten_for_test.h"

namespace regatta {
namespace {

using testing_support::count;
using testing_support::loop_count;
using testing_support::part;
using testing_support::replicas;
using testing_support::rewritten;

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

}  // namespace
}  // namespace regatta
