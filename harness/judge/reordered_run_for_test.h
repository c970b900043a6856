// SPDX-License-Identifier: Apache-2.0
//
// Runs that support the bound of loss_path.h: the first steps of a run with its sums in another
// order, or with a planted fault. A global batch is dealt to workers in whole normalisation groups,
// and worker k takes the shares in the k-th place of a random order: the gradient is a sum of other
// parts, added in another order, and everything else is the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "harness/judge/loss_path.h"
#include "kernels/comm/in_process/in_process.h"
#include "kernels/distribute/partition.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/executor.h"
#include "strategies/passes.h"
#include "workloads/workload.h"

namespace regatta::testing_support {

/// Selects a run. Only its compared first steps are computed.
struct PathSetting {
  std::string workload;
  std::int64_t steps = 0;  ///< length of the whole run: the shorter, the faster the rate rises
  std::uint64_t seed = 1;
};

inline std::int64_t computed_steps(const PathSetting& setting) {
  return std::min(setting.steps, judge::kComparedNorms);
}

/// A run's differences from `single`. With several workers, the strategy is all_reduce.
struct PathVariant {
  std::int64_t workers = 1;
  std::string algorithm = "ring";
  std::vector<std::int64_t> order;  ///< of the workers' shares in the batch; empty: unchanged
  double decay = 1;                 ///< a fault: factor on the weight decay
  std::int64_t divisor = 1;         ///< a fault: divides the gradient of the second worker
};

/// Returns the variant that is reordering number `number`.
inline PathVariant reordering(std::uint64_t number) {
  std::mt19937_64 chance(number);
  const std::vector<std::int64_t> counts{3, 5, 8};  // two workers have one order only
  const std::vector<std::string> algorithms{"ring", "reduce_to_one", "hierarchical_copy"};
  PathVariant variant;
  variant.workers = counts[chance() % counts.size()];
  variant.algorithm = algorithms[chance() % algorithms.size()];
  variant.order.resize(static_cast<std::size_t>(variant.workers));
  std::iota(variant.order.begin(), variant.order.end(), 0);
  std::shuffle(variant.order.begin(), variant.order.end(), chance);
  return variant;
}

/// Returns the placed step with the variant's order and faults.
inline Step with_variant(const Step& placed, const PathVariant& variant) {
  std::map<int, std::int64_t> sizes, offsets;  // by replica
  for (const Node& node : placed.graph.nodes()) {
    if (node.op == Op::Input) sizes[node.place.replica] = node.attributes.integer("batch");
  }
  std::int64_t offset = 0;
  for (const std::int64_t worker : variant.order) {
    offsets[static_cast<int>(worker)] = offset;
    offset += sizes.at(static_cast<int>(worker));
  }
  Step changed = placed;
  changed.graph = Graph();
  for (const Variable& variable : placed.graph.variables()) changed.graph.add(variable);
  for (Node node : placed.graph.nodes()) {
    if (node.op == Op::Input && !offsets.empty()) {
      node.attributes.set("offset", offsets.at(node.place.replica));
    }
    if (node.op == Op::Sgd) {
      node.attributes.set("weight_decay", variant.decay * node.attributes.real("weight_decay"));
    }
    const bool begins_backward =
        node.op == Op::MeanSquaredErrorBackward || node.op == Op::SoftmaxCrossEntropyBackward;
    if (begins_backward && node.place.replica == 1) {
      node.attributes.set("divisor", variant.divisor * node.attributes.integer("divisor"));
    }
    changed.graph.add(node);
  }
  return changed;
}

inline const DataSet& path_data(const std::string& workload) {
  static std::map<std::string, workloads::DataSets> loaded;
  const auto found = loaded.find(workload);
  if (found != loaded.end()) return found->second.train;
  const workloads::Workload& known = workloads::find_workload(workload);
  const std::string data =
      workloads::is_made(known.data_sets.front()) ? std::string(known.data_sets.front()) : "shapes";
  return loaded.emplace(workload, workloads::load_data(known, data, {})).first->second.train;
}

inline double norm_of_parameters(Executor& executor) {
  double squares = 0;
  const Graph& graph = executor.step().graph;
  for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
    const Variable& variable = graph.variable(v);
    if (variable.kind != VariableKind::Parameter || variable.place.replica != 0) continue;
    const Tensor& tensor = executor.variable(v).tensor;
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      squares += static_cast<double>(tensor.f32()[i]) * static_cast<double>(tensor.f32()[i]);
    }
  }
  return std::sqrt(squares);
}

/// Returns the losses of the first steps, and an evaluation after each with only the norm.
inline judge::FinishedRun path_run(const PathSetting& setting, const PathVariant& variant) {
  const workloads::Workload& workload = workloads::find_workload(setting.workload);
  const DataSet& data = path_data(setting.workload);
  const std::int64_t batch = workload.global_batch;
  const workloads::Recipe recipe{.global_batch = batch,
                                 .train_examples = data.count,
                                 .total_examples = batch * setting.steps,
                                 .data_weights = workloads::data_weights_of(workload, data)};
  strategies::StrategyOptions options;
  options.replicas = variant.workers;
  if (variant.workers > 1) options.given["all_reduce"] = variant.algorithm;
  const Step placed =
      strategies::apply(strategies::find_strategies(variant.workers > 1 ? "all_reduce" : "single"),
                        workload.training(recipe), options);
  const Step part = strategies::partitioned(with_variant(placed, variant), Binding{}).front();
  KernelTable kernels("cpu");
  add_cpu_kernels(kernels);
  comm::InProcessTransport transport;
  transport.add_kernels(kernels);
  ExecutorOptions run;
  run.seed = setting.seed;
  run.data = &data;
  run.max_examples = batch * computed_steps(setting);
  Executor executor(part, kernels, run);
  judge::FinishedRun path;
  path.cell.global_batch = batch;
  path.cell.seed = setting.seed;
  for (std::int64_t done = 1; done <= computed_steps(setting); ++done) {
    executor.run(done * batch);
    path.evaluations.push_back(
        {.examples = done * batch, .parameter_norm = norm_of_parameters(executor)});
  }
  const std::vector<LoopReport> loops = executor.loops();
  for (const float loss : loops.at(0).losses) {
    path.losses.push_back({.examples = batch * std::ssize(path.losses), .loss = loss});
  }
  return path;
}

}  // namespace regatta::testing_support
