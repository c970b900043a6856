// SPDX-License-Identifier: Apache-2.0
#include "strategies/test_support.h"

namespace regatta::testing_support {

workloads::Workload workload_of(const std::string& name) {
  for (const workloads::Workload& narrow :
       {resnet9_narrow(), airbench94_narrow(), airbench94_muon_narrow(), mobilenet_v2_narrow(),
        mobilenet_v2_full_narrow(), gpt_narrow(), llama_narrow(), gpt_narrow_muon(),
        gpt_narrow_sgd(), gpt_context(), llama_context(), parabola_clipped()}) {
    if (narrow.name == name) return narrow;
  }
  return workloads::find_workload(name);
}

bool is_language(const std::string& workload) {
  return workload.starts_with("gpt") || workload.starts_with("llama");
}

const DataSet& data_of(const std::string& workload) {
  static const DataSet curve = workloads::make_curve();
  static const DataSet shapes = workloads::make_shapes(20, workloads::Split::Train, 512);
  static const DataSet pairs = workloads::make_pairs(workloads::Split::Train, 512, 8);
  static const DataSet longer = workloads::make_pairs(workloads::Split::Train, 512, 24);
  if (workload.starts_with("parabola")) return curve;
  if (workload.ends_with("_context")) return longer;
  return is_language(workload) ? pairs : shapes;
}

Step training_of(const std::string& workload, std::int64_t global_batch, std::int64_t steps,
                 ElementType element) {
  const DataSet& data = data_of(workload);
  workloads::Recipe recipe;
  recipe.global_batch = global_batch;
  recipe.train_examples = data.count;
  recipe.total_examples = steps * global_batch;
  recipe.element = element;
  recipe.data_weights = workloads::data_weights_of(workload_of(workload), data);
  return workload_of(workload).training(recipe);
}

std::string identifier_of(std::string strategy) {
  std::replace(strategy.begin(), strategy.end(), '+', '_');
  return strategy;
}

ExecutorOptions executor_options(const DataSet& data, const TrialOptions& run,
                                 std::int64_t examples) {
  ExecutorOptions options;
  options.cores = run.cores;
  options.threads_per_worker = run.threads_per_worker;
  options.seed = kSeed;
  options.data = &data;
  options.max_examples = examples;
  options.stragglers = run.stragglers;
  options.trace_events = run.trace_events;
  options.rules.loss = run.loss;
  options.plan = run.plan;
  options.launch = run.launch;
  return options;
}

Parameters first_parameters(const Step& step) {
  Parameters all;
  for (VariableId v = 0; v < static_cast<VariableId>(step.graph.variables().size()); ++v) {
    const Variable& variable = step.graph.variable(v);
    if (variable.kind != VariableKind::Parameter) continue;
    std::vector<float>& values = all[variable.name];
    values.resize(static_cast<std::size_t>(variable.type.elements()));
    initialize(step.graph, v, kSeed, values.data());
  }
  return all;
}

void add_parameters(Executor& executor, Parameters& all) {
  const Graph& graph = executor.step().graph;
  for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
    const Variable& variable = graph.variable(v);
    if (variable.kind != VariableKind::Parameter) continue;
    if (!variable.part_of && all.contains(variable.name)) continue;
    const Tensor& tensor = executor.variable(v).tensor;
    std::vector<float>& whole = all[variable.whole_name()];
    for (const Stretch& each : variable.stretches()) {
      const auto end = static_cast<std::size_t>(each.in_whole + each.count);
      whole.resize(std::max(whole.size(), end));
      std::copy_n(tensor.f32() + each.in_part, each.count, whole.begin() + each.in_whole);
    }
  }
}

double mean_staleness(const std::vector<WorkerReport>& workers) {
  double updates = 0;
  double missed = 0;
  for (const WorkerReport& worker : workers) {
    for (std::size_t s = 0; s < worker.staleness.size(); ++s) {
      updates += static_cast<double>(worker.staleness[s]);
      missed += static_cast<double>(s) * static_cast<double>(worker.staleness[s]);
    }
  }
  return updates == 0 ? -1 : missed / updates;
}

Trial::Trial(const Step& step, const DataSet& data, const TrialOptions& run) : kernels_("cpu") {
  const auto strategies = run.own.empty() ? strategies::find_strategies(run.strategy) : run.own;
  part_ =
      strategies::partitioned(strategies::apply(strategies, step, run.options), Binding{}).front();
  run.add_kernels(kernels_);
  transport_.add_kernels(kernels_);
  if (run.change) run.change(part_, kernels_);
  if (run.watch != nullptr) run.watch->attach(kernels_);
  const std::int64_t examples = run.steps * step.global_batch;
  const std::int64_t most = std::max(run.steps, run.most_steps) * step.global_batch;
  Device& device = run.device == nullptr ? cpu_device() : *run.device;
  executor_ = std::make_unique<Executor>(part_, PlacedDevices(kernels_, device),
                                         executor_options(data, run, most));
  executor_->prepare();
  executor_->run(examples);
}

Parameters Trial::parameters() {
  Parameters all;
  add_parameters(*executor_, all);
  return all;
}

double distance(const Parameters& a, const Parameters& b) {
  double squares = 0;
  for (const auto& [name, values] : b) {
    const std::vector<float>& others = a.at(name);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double delta = static_cast<double>(others[i]) - static_cast<double>(values[i]);
      squares += delta * delta;
    }
  }
  return std::sqrt(squares);
}

double relative_difference(const Parameters& a, const Parameters& b) {
  double squares = 0;
  for (const auto& [name, values] : b) {
    for (float value : values) squares += static_cast<double>(value) * static_cast<double>(value);
  }
  return distance(a, b) / std::sqrt(squares);
}

}  // namespace regatta::testing_support
