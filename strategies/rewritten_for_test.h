// SPDX-License-Identifier: Apache-2.0
//
// For tests that check a strategy's rewrite by text or counts: the parabola under a strategy, and
// node counts. Needs no kernels or threads.
#pragma once

#include <algorithm>
#include <string>

#include "kernels/distribute/loops.h"
#include "kernels/distribute/partition.h"
#include "strategies/passes.h"
#include "workloads/workload.h"

namespace regatta::testing_support {

inline constexpr std::int64_t kParabolaBytes = (5 + 5 + 5 + 1) * 4;  // two weights, two biases
inline constexpr std::int64_t kParabolaInputBytes = 50 * 2 * 4;

inline Step parabola() {
  workloads::Recipe recipe;
  recipe.global_batch = 50;
  recipe.train_examples = 50;
  recipe.total_examples = 100'000;
  return workloads::find_workload("parabola").training(recipe);
}

inline Step rewritten(const std::string& name, strategies::StrategyOptions options) {
  return strategies::apply(strategies::find_strategies(name), parabola(), options);
}

inline strategies::StrategyOptions replicas(std::int64_t n) {
  strategies::StrategyOptions options;
  options.replicas = n;
  return options;
}

inline Graph part(const Step& step) {
  return strategies::partitioned(step, Binding{}).front().graph;
}

inline std::int64_t count(const Graph& graph, Op op) {
  return std::count_if(graph.nodes().begin(), graph.nodes().end(),
                       [op](const Node& node) { return node.op == op; });
}

inline std::size_t loop_count(const Step& step) {
  const std::vector<int> all = loops(part(step));
  return static_cast<std::size_t>(*std::max_element(all.begin(), all.end())) + 1;
}

inline const Place kWorker0{};
inline const Place kWorker1{.replica = 1, .stage = 0, .role = Role::Worker};
inline const Place kHost{.replica = 0, .stage = 0, .role = Role::Host};

}  // namespace regatta::testing_support
