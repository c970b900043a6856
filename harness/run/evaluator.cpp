// SPDX-License-Identifier: Apache-2.0
#include "harness/run/evaluator.h"

#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "harness/run/assemble.h"
#include "harness/run/backend.h"
#include "kernels/base/error.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/measure/clock.h"
#include "kernels/runtime/parts.h"

namespace regatta::run {
namespace {

/// The share of each copy in a step's normalisation groups: the replica's own share if all copies
/// are there, else an equal share.
std::vector<double> weights_of(const std::vector<std::int64_t>& groups, std::size_t copies) {
  const std::int64_t all = std::accumulate(groups.begin(), groups.end(), std::int64_t{0});
  std::vector<double> weights;
  for (std::size_t c = 0; c < copies; ++c) {
    const std::int64_t own =
        copies == groups.size()
            ? groups[c]
            : share(all, static_cast<std::int64_t>(copies), static_cast<std::int64_t>(c)).size();
    weights.push_back(static_cast<double>(own) / static_cast<double>(all));
  }
  return weights;
}

/// Returns 1 if no value of a batch is large enough to divide, because a team of threads ends with
/// each evaluation and costs milliseconds.
int threads_for(const Graph& graph, std::size_t cores) {
  std::int64_t largest = 0;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    for (const TensorType& type : graph.node(id).outputs) {
      largest = std::max(largest, type.elements());
    }
  }
  return parts_for(std::max(1, static_cast<int>(cores)), largest);
}

}  // namespace

Evaluator::Evaluator(const workloads::Workload& workload, const Step& evaluation,
                     const DataSet& test, const Backend& backend, const EvaluatorOptions& options)
    : metric_(workload.metric),
      groups_(options.groups),
      models_(options.models),
      examples_(test.count) {
  check(test.count % evaluation.global_batch == 0, "evaluation batches cover the test set exactly");
  ExecutorOptions executor;
  executor.cores = options.cores;
  executor.threads_per_worker = threads_for(evaluation.graph, options.cores.size());
  executor.data = &test;
  executor.max_examples = test.count * options.evaluations * options.models;
  executor.launch = options.launch;
  executor_ = std::make_unique<Executor>(evaluation, backend.devices(), executor);
  executor_->prepare();
}

void Evaluator::adopt_variables(std::vector<VariableCopy> all, int model) {
  std::erase_if(all, [&](const VariableCopy& copy) { return copy.model != model; });
  const Graph& graph = executor_->step().graph;
  for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
    const Variable& variable = graph.variable(v);
    const std::vector<std::vector<float>> copies = assemble(all, variable.name);
    check(!copies.empty(), "training has a variable that is judged as " + variable.name);
    const std::vector<double> weights = weights_of(groups_, copies.size());
    float* target = executor_->variable(v).tensor.f32();
    for (std::int64_t i = 0; i < variable.type.elements(); ++i) {
      double sum = 0;
      for (std::size_t c = 0; c < copies.size(); ++c) {
        sum += weights[c] * static_cast<double>(copies[c][static_cast<std::size_t>(i)]);
      }
      target[i] = static_cast<float>(sum);
    }
  }
  executor_->write_variables();
}

bool Evaluator::copy_on_device(Trainer& training, int model) {
  std::map<std::string, std::vector<VariableOnDevice>> all;
  for (const VariableOnDevice& each : training.variables_on_devices()) {
    if (each.model == model) all[each.variable.judged_name()].push_back(each);
  }
  const Graph& graph = executor_->step().graph;
  std::map<Device*, std::vector<MemoryCopy>> copies;
  for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
    Device& device = executor_->device_of(v);
    const std::vector<VariableOnDevice>& found = all[graph.variable(v).name];
    const bool is_one = found.size() == 1 && !found.front().variable.part_of;
    if (!is_one || !device.copies_from(*found.front().device)) return false;
    copies[&device].push_back({.to = executor_->variable_on_device(v).data,
                               .from = found.front().tensor.data,
                               .bytes = graph.variable(v).type.bytes()});
  }
  for (const auto& [device, of_device] : copies) device->copy(of_device);
  return true;
}

/// The norm of the parameters that were evaluated last.
double Evaluator::parameter_norm() {
  double squares = 0;
  const Graph& graph = executor_->step().graph;
  for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
    if (graph.variable(v).kind != VariableKind::Parameter) continue;
    const Tensor tensor = executor_->variable(v).tensor;
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      const auto value = static_cast<double>(tensor.f32()[i]);
      squares += value * value;
    }
  }
  return std::sqrt(squares);
}

EvaluationResult Evaluator::judge(Trainer& training) {
  EvaluationResult mean;
  std::vector<VariableCopy> fetched;
  for (int model = 0; model < models_; ++model) {
    const EvaluationResult one = judge_model(training, model, fetched);
    mean.loss += one.loss / models_;
    mean.metric += one.metric / models_;
    mean.parameter_norm += one.parameter_norm / models_;
    mean.took_ns += one.took_ns;
  }
  executor_->rest();  // training continues
  return mean;
}

EvaluationResult Evaluator::judge_model(Trainer& training, int model,
                                        std::vector<VariableCopy>& fetched) {
  const std::int64_t begin_ns = now_ns();
  if (!copy_on_device(training, model)) {
    if (fetched.empty()) fetched = training.variables(Copies::ForEvaluation);
    adopt_variables(fetched, model);
  }
  const std::size_t done = executor_->loss_history(0).size();
  const std::int64_t all = executor_->examples_seen() + examples_;
  while (executor_->examples_seen() < all) {
    executor_->run(executor_->examples_seen() + executor_->step().global_batch);
    training.look();
  }
  const auto mean_of = [&](std::size_t index) {
    const auto fresh = executor_->loss_history(index).subspan(done);
    return std::accumulate(fresh.begin(), fresh.end(), 0.0) / static_cast<double>(examples_);
  };
  EvaluationResult judgement{.loss = mean_of(0)};
  judgement.metric = metric_ == workloads::Metric::Accuracy ? 100 * mean_of(1) : judgement.loss;
  judgement.took_ns = now_ns() - begin_ns;
  judgement.parameter_norm = parameter_norm();
  return judgement;
}

}  // namespace regatta::run
