// SPDX-License-Identifier: Apache-2.0
//
// For tests of strategies that compress gradients: the values of a replica's variable after a run,
// and the bytes that the run has sent.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/distribute/traffic.h"
#include "strategies/test_support.h"

namespace regatta::testing_support {

/// Returns the values of an f32 variable; fails the test if the replica has none of that name.
inline std::vector<float> values_at(Trial& trial, const std::string& name, int replica) {
  const Graph& graph = trial.graph();
  for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
    const Variable& variable = graph.variable(v);
    if (variable.name != name || variable.place.replica != replica) continue;
    const Tensor& tensor = trial.executor().variable(v).tensor;
    return {tensor.f32(), tensor.f32() + tensor.elements()};
  }
  ADD_FAILURE() << "there is no " << name;
  return {};
}

/// Checks that the bytes sent per step, summed over all places, equal `bytes`, both as computed
/// from the graph and as counted during the run.
inline void expect_bytes_of_a_step(Trial& trial, std::int64_t steps, std::int64_t bytes) {
  EXPECT_EQ(bytes_per_step(trial.graph(), steps), bytes);
  std::int64_t counted = 0;
  for (const auto& [place, traffic] : trial.counted()) counted += traffic.sent;
  EXPECT_EQ(counted, steps * bytes);
}

}  // namespace regatta::testing_support
