// SPDX-License-Identifier: Apache-2.0
//
// The basis of tensor_parallel's equivalence tests: each sum over shards matters, and the parts of
// a variable begin with the values of the whole.
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

#include "strategies/equivalence_for_test.h"
#include "strategies/passes.h"

namespace regatta::strategies {
namespace {

using testing_support::bounds_of;
using testing_support::Case;
using testing_support::case_of;
using testing_support::Deviation;
using testing_support::deviation;
using testing_support::first_parameters;
using testing_support::kSeed;
using testing_support::result_of;
using testing_support::single_of;
using testing_support::TrialOptions;

std::int64_t sums_of(const Step& placed) {
  std::int64_t rounds = 0;
  for (const Node& node : placed.graph.nodes()) {
    if (node.op == Op::AllReduce) rounds = std::max(rounds, node.attributes.integer("round"));
  }
  return rounds;
}

/// Replaces one sum: each shard uses twice its own term.
Step without_sum(const Step& placed, std::int64_t round) {
  Step wrong = placed;
  wrong.graph = Graph();
  wrong.graph.copy_variables_of(placed.graph);
  for (Node node : placed.graph.nodes()) {
    if (node.op == Op::AllReduce && node.attributes.integer("round") == round) {
      node.op = Op::Scale;
      node.attributes = Attributes{{"factor", 2.0}};
    }
    wrong.graph.add(node);
  }
  return wrong;
}

/// One step suffices: the first update already differs.
TEST(TensorParallel, LeavesNoSumOutUnseen) {
  const Case test = case_of("resnet9_thin 80 tensor_parallel 1x1x2 steps=1");
  const Step step = step_of(test);
  const auto first = first_parameters(step);
  const TrialOptions alone = options_of(single_of(test));
  const Step placed = apply(find_strategies(test.strategy), step, options_of(test).options);
  ASSERT_EQ(sums_of(placed), 7);
  for (std::int64_t round = 1; round <= sums_of(placed); ++round) {
    const Deviation wrong = deviation(result_of(without_sum(placed, round), test, alone),
                                      result_of(single_of(test)), first);
    std::cout << "without sum " << round << ": " << wrong << '\n';
    EXPECT_GT(wrong.parameters, 3 * bounds_of(test).parameters) << round;
  }
}

std::vector<float> first_values(const Graph& graph, VariableId v) {
  std::vector<float> values(static_cast<std::size_t>(graph.variable(v).type.elements()));
  initialize(graph, v, kSeed, values.data());
  return values;
}

/// Uniform, dirac, given, ones, zeros, and slow copies; along the first dimension and the last.
TEST(TensorParallel, BeginsWithTheValuesOfTheWhole) {
  const Step whole = testing_support::training_of("airbench94_narrow", 64, 100);
  std::map<std::string, std::vector<float>> expected;
  for (VariableId v = 0; v < std::ssize(whole.graph.variables()); ++v) {
    expected[whole.graph.variable(v).name] = first_values(whole.graph, v);
  }
  StrategyOptions options;
  options.shards = 3;
  const Graph graph = apply(find_strategies("tensor_parallel"), whole, options).graph;
  std::map<std::string, std::vector<int>> met;  // how often each element occurs
  for (VariableId v = 0; v < std::ssize(graph.variables()); ++v) {
    const Variable& variable = graph.variable(v);
    const std::vector<float> values = first_values(graph, v);
    const std::vector<float>& wanted = expected.at(variable.whole_name());
    std::vector<int>& times = met[variable.whole_name()];
    times.resize(wanted.size());
    for (const Stretch& each : variable.stretches()) {
      for (std::int64_t i = 0; i < each.count; ++i) {
        const auto at = static_cast<std::size_t>(each.in_whole + i);
        EXPECT_EQ(values[static_cast<std::size_t>(each.in_part + i)], wanted[at]) << variable.name;
        ++times[at];
      }
    }
  }
  for (const auto& [name, times] : met) {
    EXPECT_EQ(std::count(times.begin(), times.end(), times[0]), std::ssize(times)) << name;
    EXPECT_TRUE(times[0] == 1 || times[0] == 3) << name;
  }
  EXPECT_EQ(met.size(), expected.size());
}

}  // namespace
}  // namespace regatta::strategies
