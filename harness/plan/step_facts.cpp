// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/step_facts.h"

#include <algorithm>

#include "kernels/graph/period.h"

namespace regatta::plan {

namespace {

bool uses_anothers(const Graph& placed, const Node& node) {
  return node.place.role == Role::Worker &&
         std::any_of(node.variables.begin(), node.variables.end(),
                     [&](VariableId v) { return placed.variable(v).place != node.place; });
}

}  // namespace

StepFacts facts_of(const Step& step) {
  const Graph& placed = step.graph;
  const auto& nodes = placed.nodes();
  const auto& variables = placed.variables();
  std::int64_t replicas = 1;
  std::int64_t stages = 1;
  std::int64_t shards = 1;
  std::int64_t servers = 0;
  for (const Node& node : nodes) {
    if (node.place.role == Role::Worker) {
      replicas = std::max<std::int64_t>(replicas, node.place.replica + 1);
      stages = std::max<std::int64_t>(stages, node.place.stage + 1);
      shards = std::max<std::int64_t>(shards, node.place.shard + 1);
    }
    if (node.place.role == Role::Server) {
      servers = std::max<std::int64_t>(servers, node.place.stage + 1);
    }
  }
  return {
      .sums_gradients = std::any_of(nodes.begin(), nodes.end(),
                                    [](const Node& node) { return node.op == Op::AllReduce; }),
      .sums_tensors =
          std::any_of(nodes.begin(), nodes.end(),
                      [](const Node& node) {
                        return node.op == Op::AllReduce &&
                               (node.outputs.size() > 1 || node.outputs[0].elements() > 1);
                      }),
      .carries_shares = std::any_of(nodes.begin(), nodes.end(),
                                    [](const Node& node) {
                                      return node.op == Op::ReduceScatter ||
                                             node.op == Op::AllGather;
                                    }),
      .shares_variables = std::any_of(variables.begin(), variables.end(),
                                      [](const Variable& each) {
                                        return each.sharing != Sharing::None &&
                                               each.place.role == Role::Worker;
                                      }),
      .shares_memory = std::any_of(
          nodes.begin(), nodes.end(),
          [&](const Node& node) { return node.op != Op::Average && uses_anothers(placed, node); }),
      .needs_the_host = std::any_of(nodes.begin(), nodes.end(),
                                    [](const Node& node) { return node.place.role == Role::Host; }),
      .exchanges_differ = !exchanges_are_alike(placed),
      .has_quorum =
          std::any_of(variables.begin(), variables.end(),
                      [](const Variable& each) { return each.sharing == Sharing::Quorum; }),
      .replicas = replicas * step.alike.replicas,
      .stages = stages,
      .shards = shards * step.alike.shards,
      .servers = servers};
}

}  // namespace regatta::plan
