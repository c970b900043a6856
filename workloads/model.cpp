// SPDX-License-Identifier: Apache-2.0
#include "workloads/model.h"

#include <cmath>
#include <utility>

#include "kernels/graph/gradient.h"
#include "kernels/graph/verify.h"

namespace regatta {

Initializer fan_in_uniform(std::int64_t fan_in) {
  return {.kind = Initializer::Kind::Uniform,
          .scale = 1 / std::sqrt(static_cast<double>(fan_in)),
          .source = {}};
}

void Model::layer(const std::string& name) {
  layer_ = name;
  builder_.layer(name);
}

VariableId Model::add_variable(const std::string& name, std::vector<std::int64_t> dims,
                               VariableKind kind, const Initializer& initializer) {
  Variable variable;
  variable.name = name;
  variable.type.dims = std::move(dims);
  variable.kind = kind;
  variable.initializer = initializer;
  return step_.graph.add(std::move(variable));
}

Value Model::parameter(const std::string& name, std::vector<std::int64_t> dims,
                       const Initializer& initializer) {
  const VariableId variable =
      add_variable(layer_ + '.' + name, std::move(dims), VariableKind::Parameter, initializer);
  const Value value = builder_.read(variable);
  parameters_.push_back({.variable = variable, .value = value, .layer = layer_});
  return value;
}

Value Model::convolution(Value x, std::int64_t channels, const Window& window) {
  const std::int64_t inputs = step_.graph.type(x).dims.back();
  const Value weights = parameter("weight", {channels, window.kernel, window.kernel, inputs},
                                  fan_in_uniform(inputs * window.kernel * window.kernel));
  return builder_.convolution(x, weights, window);
}

Value Model::normalize(Value x, const Normalization& options) {
  const std::vector<std::int64_t> channels{step_.graph.type(x).dims.back()};
  const Initializer zeros{};
  const Initializer ones{.kind = Initializer::Kind::Ones, .scale = 1, .source = {}};
  const Value scale = parameter("scale", channels, ones);
  const Value shift = parameter("shift", channels, zeros);
  const VariableId mean =
      add_variable(layer_ + ".running_mean", channels, VariableKind::Statistic, zeros);
  const VariableId variance =
      add_variable(layer_ + ".running_variance", channels, VariableKind::Statistic, ones);
  if (mode_ == Mode::Training) return builder_.normalize(x, scale, shift, mean, variance, options);
  return builder_.normalize_inference(x, scale, shift, builder_.read(mean), builder_.read(variance),
                                      options.epsilon);
}

Value Model::dense(Value x, std::int64_t outputs, const Initializer& initializer) {
  const std::int64_t inputs = step_.graph.type(x).dims.back();
  return builder_.dense(x, parameter("weight", {outputs, inputs}, initializer));
}

Value Model::bias(Value x) {
  return builder_.bias(x, parameter("bias", {step_.graph.type(x).dims.back()}, Initializer{}));
}

Step Model::finish_training(Value loss, const SgdOptions& sgd, std::int64_t global_batch,
                            std::int64_t normalization_group) {
  std::vector<Value> values;
  for (const Parameter& parameter : parameters_) values.push_back(parameter.value);
  const std::vector<Value> gradients = gradient(step_.graph, loss, values);
  builder_.in(Phase::Update);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    const VariableId velocity = add_variable(
        step_.graph.variable(parameter.variable).name + ".velocity",
        step_.graph.variable(parameter.variable).type.dims, VariableKind::Slot, Initializer{});
    builder_.layer(parameter.layer);
    const NodeId update = builder_.sgd(gradients[i], parameter.variable, velocity, sgd);
    step_.trainables.push_back(
        {.variable = parameter.variable, .gradient = gradients[i], .updates = {update}});
  }
  step_.losses = {loss};
  step_.global_batch = global_batch;
  step_.normalization_group = normalization_group;
  verify(step_, "building the model");
  return std::move(step_);
}

Step Model::finish_evaluation(std::vector<Value> outputs, std::int64_t batch) {
  step_.losses = std::move(outputs);
  step_.global_batch = batch;
  verify(step_, "building the evaluation");
  return std::move(step_);
}

}  // namespace regatta
