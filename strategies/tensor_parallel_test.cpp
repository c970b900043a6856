// SPDX-License-Identifier: Apache-2.0
//
// The parts of a variable begin with the values of the whole.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "strategies/equivalence_for_test.h"
#include "strategies/passes.h"

namespace regatta::strategies {
namespace {

using testing_support::kSeed;

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
