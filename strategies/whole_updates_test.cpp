// SPDX-License-Identifier: Apache-2.0
//
// Matrices that are updated as a whole, by muon: who owns and updates them. equivalence_test.cpp
// compares the values with those of `single`.
#include <gtest/gtest.h>

#include <map>

#include "kernels/base/error_for_test.h"
#include "kernels/distribute/traffic.h"
#include "strategies/rewritten_for_test.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;

constexpr std::int64_t kWidth = 48;

Step placed(const std::string& strategies, const StrategyOptions& options,
            const std::string& optimizer = "muon", ElementType element = ElementType::F32) {
  workloads::Recipe recipe;
  recipe.element = element;
  recipe.global_batch = 12;
  recipe.train_examples = 12;
  recipe.total_examples = 1200;
  recipe.options.given = {{"layers", 2}, {"width", kWidth}, {"optimizer", optimizer}};
  return apply(find_strategies(strategies), workloads::find_workload("gpt_thin").training(recipe),
               options);
}

/// The number of elements of the matrices that muon updates at each place.
std::map<Place, std::int64_t> dealt(const Graph& graph) {
  std::map<Place, std::int64_t> elements;
  for (const Node& node : graph.nodes()) {
    if (node.op != Op::Muon) continue;
    EXPECT_FALSE(graph.variable(node.variables[0]).part_of.has_value());
    elements[node.place] += graph.variable(node.variables[0]).type.elements();
  }
  return elements;
}

/// A layer has 3, 1, 4 and 4 squares of the width, and all are 24: 8 for each of three workers.
TEST(WholeUpdates, AreDealtEvenlyToTheWorkersOfSharded) {
  for (const ElementType element : {ElementType::F32, ElementType::BF16}) {
    const Graph graph = placed("sharded", replicas(3), "muon", element).graph;
    const std::map<Place, std::int64_t> elements = dealt(graph);
    ASSERT_EQ(elements.size(), 3U);
    for (const auto& [place, owned] : elements) EXPECT_EQ(owned, 8 * kWidth * kWidth);
  }
  const Step step = placed("sharded", replicas(3));
  for (const std::string name : {"layer0.mlp.up", "layer0.mlp.up.momentum"}) {
    const auto& all = step.graph.variables();
    EXPECT_EQ(std::count_if(all.begin(), all.end(), [&](const auto& v) { return v.name == name; }),
              1)
        << name;
  }
}

TEST(WholeUpdates, SendAsManyBytesAsShares) {
  for (const std::int64_t n : {2, 3, 4}) {
    EXPECT_EQ(bytes_per_step(part(placed("sharded", replicas(n))), 1),
              bytes_per_step(part(placed("sharded", replicas(n), "adamw")), 1))
        << n;
  }
}

/// Every worker has the whole of a gradient that powersgd exchanged.
TEST(WholeUpdates, NeedNoSumOfAReplacedGradient) {
  const Graph graph = placed("sharded+powersgd", replicas(2)).graph;
  EXPECT_EQ(count(graph, Op::Muon), 2 * 4);
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::Sum && node.phase == Phase::Update) {
      EXPECT_EQ(node.layer, "clip");
    }
  }
}

TEST(WholeUpdates, StayWholeOnServers) {
  StrategyOptions options = replicas(2);
  options.given["servers"] = 3;
  EXPECT_EQ(dealt(placed("parameter_server", options).graph).size(), 3U);
}

std::string refusal(const std::string& strategies, const StrategyOptions& options) {
  return error_of([&] { (void)placed(strategies, options); });
}

TEST(WholeUpdates, AreRefusedWhereAWorkerHasAPart) {
  for (const std::string shard : {"gradients", "parameters"}) {
    StrategyOptions options = replicas(2);
    options.given["shard"] = shard;
    EXPECT_EQ(refusal("sharded", options),
              "strategy 'sharded' with --shard " + shard +
                  ": 'muon' updates whole matrices, which only --shard optimizer deals to workers; "
                  "fix: give --shard optimizer or another optimizer of the workload");
  }
  StrategyOptions options = replicas(1);
  options.shards = 2;
  EXPECT_EQ(refusal("tensor_parallel", options),
            "strategy 'tensor_parallel' with 2 shards: 'muon' in layer 'layer0.attention' updates "
            "whole matrices, of which a shard has some rows or columns; fix: give another "
            "optimizer of the workload, or a strategy that does not divide layers");
}

}  // namespace
}  // namespace regatta::strategies
