// SPDX-License-Identifier: Apache-2.0
//
// For tests: replicas that start with different values and have no gradients, so that only the
// strategy's exchange changes them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "strategies/test_support.h"

namespace regatta::testing_support {

/// A training step of the parabola with learning rate 0, so that updates change nothing.
inline Step resting_training(std::int64_t most_steps) {
  Step step = training_of("parabola", 50, most_steps);
  Graph graph;
  for (const Variable& variable : step.graph.variables()) graph.add(variable);
  for (Node node : step.graph.nodes()) {
    if (node.op == Op::Sgd) node.attributes.set("schedule_values", std::vector<double>{0});
    if (node.op == Op::Sgd) node.attributes.set("schedule_examples", std::vector<double>{0});
    graph.add(node);
  }
  step.graph = graph;
  return step;
}

/// The values of one variable, by replica.
inline std::vector<std::vector<float>> by_replica(Trial& trial, const std::string& name) {
  std::vector<std::vector<float>> all;
  const Graph& graph = trial.graph();
  for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
    if (graph.variable(v).name != name) continue;
    const Tensor& tensor = trial.executor().variable(v).tensor;
    all.emplace_back(tensor.f32(), tensor.f32() + tensor.elements());
  }
  return all;
}

/// Sets each replica's variable to value(replica, element).
inline void begin_apart(Trial& trial, const std::string& name,
                        const std::function<float(std::int64_t, std::int64_t)>& value) {
  const Graph& graph = trial.graph();
  for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
    const Variable& variable = graph.variable(v);
    if (variable.name != name) continue;
    const Tensor& tensor = trial.executor().variable(v).tensor;
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      tensor.f32()[i] = value(variable.place.replica, i);
    }
  }
  trial.executor().write_variables();
}

}  // namespace regatta::testing_support
