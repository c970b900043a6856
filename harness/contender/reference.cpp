// SPDX-License-Identifier: Apache-2.0
#include "harness/contender/reference.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "harness/plan/training_options.h"
#include "harness/run/backend.h"
#include "harness/system/process.h"
#include "kernels/data/data_order.h"
#include "kernels/graph/builder.h"
#include "kernels/runtime/executor.h"
#include "strategies/passes.h"

namespace regatta::contender {
namespace {

constexpr double kTimes = 10;
constexpr int kRuns = 2;  ///< from other first weights
constexpr double kLeastOfParameters = 1e-5;
/// The change of first weights, and the least bounds; see reference.h.
struct Rounding {
  double change = 0;
  double losses = 0;
  double gradient_norm = 0;
};
constexpr Rounding kRoundingOfF32{.change = 0x1p-22, .losses = 1e-5, .gradient_norm = 1e-3};
constexpr Rounding kRoundingOfBf16{.change = 0x1p-10, .losses = 3e-4, .gradient_norm = 2e-2};

const char* const kSquaredNorm = "proof.squared_norm";

/// The step, with a variable for the square of the norm of all gradients before they are clipped.
Step with_gradient_norm(Step step) {
  std::vector<Value> gradients;
  for (const Trainable& each : step.trainables) gradients.push_back(each.gradient);
  const VariableId norm = step.graph.add(
      Variable{.name = kSquaredNorm, .type = {.dims = {1}}, .kind = VariableKind::Slot});
  Builder builder(step.graph);
  builder.in(Phase::Update).layer("proof");
  builder.assign(builder.squared_norm(gradients), norm);
  return std::move(strategies::partitioned(step, Binding{}).front());
}

double squared_norm(Executor& executor) {
  const std::vector<Variable>& all = executor.step().graph.variables();
  const auto is_norm = [](const Variable& variable) { return variable.name == kSquaredNorm; };
  const auto found = std::find_if(all.begin(), all.end(), is_norm);
  return static_cast<double>(
      *executor.variable(static_cast<VariableId>(found - all.begin())).tensor.f32());
}

template <typename Function>
void for_each_parameter(Executor& executor, Function function) {
  const std::vector<Variable>& variables = executor.step().graph.variables();
  for (VariableId v = 0; v < std::ssize(variables); ++v) {
    if (variables[static_cast<std::size_t>(v)].kind != VariableKind::Parameter) continue;
    const Tensor& tensor = executor.variable(v).tensor;
    for (std::int64_t i = 0; i < tensor.elements(); ++i) function(v, i, tensor.f32()[i]);
  }
}

double parameter_norm(Executor& executor) {
  double squares = 0;
  for_each_parameter(executor, [&](VariableId, std::int64_t, float value) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  });
  return std::sqrt(squares);
}

/// Runs the proven steps from changed initial weights; leaves out the direct effect of the change
/// on the norm.
Proof train(const Step& step, const PlacedDevices& devices, const ExecutorOptions& options,
            double change, int run) {
  Executor executor(step, devices, options);
  const double first = parameter_norm(executor);
  for_each_parameter(executor, [&](VariableId v, std::int64_t i, float& value) {
    const std::uint64_t place = paired(v, run) ^ scrambled(static_cast<std::uint64_t>(i));
    value *= static_cast<float>(scrambled(place) % 2 == 0 ? 1 + change : 1 - change);
  });
  executor.write_variables();
  const double changed = parameter_norm(executor);
  executor.run(step.global_batch);
  Proof proof{.gradient_norm = std::sqrt(squared_norm(executor))};
  executor.run(options.max_examples);
  const auto losses = executor.loss_history(0);
  proof.losses = {losses.begin(), losses.end()};
  proof.parameter_norm = parameter_norm(executor) * first / changed;
  return proof;
}

void widen(double& bound, double found, double expected) {
  bound = std::max(bound, kTimes * std::abs(found - expected) / std::abs(expected));
}

}  // namespace

Reference reference_of(const plan::RaceRequest& request, const plan::Placement& placement,
                       const DataSet& train_data) {
  const std::int64_t batch = placement.recipe.global_batch;
  ExecutorOptions options = plan::executor_options(request, placement, train_data, 0);
  options.cores = system::available_cores(request.cores);
  options.threads_per_worker = static_cast<int>(options.cores.size());
  options.max_examples = std::min(placement.recipe.total_examples, kProvenSteps * batch);
  const std::unique_ptr<run::Backend> backend = run::make_backend(request.device);
  const Step step = with_gradient_norm(placement.placed->step);
  const auto train_from = [&](double change, int run) {
    return train(step, backend->devices(), options, change, run);
  };
  Reference reference{.expected = train_from(0, 0)};
  const Proof& expected = reference.expected;
  const Rounding& rounding =
      placement.recipe.element == ElementType::F32 ? kRoundingOfF32 : kRoundingOfBf16;
  Bounds& bounds = reference.bounds;
  bounds = {.gradient_norm = rounding.gradient_norm,
            .losses = std::vector(expected.losses.size(), rounding.losses),
            .parameter_norm = kLeastOfParameters};
  for (int run = 1; run <= kRuns; ++run) {
    const Proof other = train_from(rounding.change, run);
    widen(bounds.gradient_norm, other.gradient_norm, expected.gradient_norm);
    widen(bounds.parameter_norm, other.parameter_norm, expected.parameter_norm);
    for (std::size_t k = 0; k < bounds.losses.size(); ++k) {
      if (k > 0) bounds.losses[k] = std::max(bounds.losses[k], bounds.losses[k - 1]);
      widen(bounds.losses[k], other.losses[k], expected.losses[k]);
    }
  }
  return reference;
}

}  // namespace regatta::contender
