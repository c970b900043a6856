// SPDX-License-Identifier: Apache-2.0
#include "workloads/model.h"

#include <cmath>
#include <numbers>

#include "kernels/graph/gradient.h"
#include "kernels/graph/verify.h"

namespace regatta::workloads {

Initializer fan_in_uniform(std::int64_t fan_in) {
  return {.kind = Initializer::Kind::Uniform,
          .scale = 1 / std::sqrt(static_cast<double>(fan_in)),
          .source = {}};
}

void append_cosine(Schedule& schedule, const Cosine& cosine) {
  for (int i = 0; i <= cosine.pieces; ++i) {
    const double share = static_cast<double>(i) / cosine.pieces;
    schedule.examples.push_back(cosine.begin + share * (cosine.end - cosine.begin));
    schedule.values.push_back(cosine.to + (cosine.from - cosine.to) / 2 *
                                              (1 + std::cos(std::numbers::pi * share)));
  }
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

Value Model::constant(const std::string& name, std::vector<std::int64_t> dims,
                      const Initializer& initializer) {
  const std::string full = layer_ + '.' + name;
  const auto known = reads_.find(full);
  if (known != reads_.end()) return known->second;
  const VariableId variable =
      add_variable(full, std::move(dims), VariableKind::Parameter, initializer);
  return reads_[full] = builder_.read(variable);
}

Value Model::parameter(const std::string& name, std::vector<std::int64_t> dims,
                       const Initializer& initializer) {
  const bool is_new = !reads_.contains(layer_ + '.' + name);
  const Value value = constant(name, std::move(dims), initializer);
  const VariableId variable = step_.graph.node(value.node).variables.front();
  if (is_new) parameters_.push_back({.variable = variable, .value = value, .layer = layer_});
  return value;
}

VariableId Model::statistic(const std::string& name, std::vector<std::int64_t> dims,
                            const Initializer& initializer) {
  const std::string full = layer_ + '.' + name;
  const auto known = variables_.find(full);
  if (known != variables_.end()) return known->second;
  const VariableId id = add_variable(full, std::move(dims), VariableKind::Statistic, initializer);
  statistics_.emplace_back(id, layer_);
  return variables_[full] = id;
}

Value Model::in_element(Value parameter) {
  if (element_ == ElementType::F32) return parameter;
  const auto known = casts_.find(parameter);
  if (known != casts_.end()) return known->second;
  return casts_[parameter] = builder_.cast(parameter, element_);
}

Value Model::as_f32(Value x) {
  return step_.graph.type(x).element == ElementType::F32 ? x : builder_.cast(x, ElementType::F32);
}

std::vector<Value> Model::images(std::int64_t batch, const TensorType& example,
                                 const Augmentation& augmentation) {
  return builder_.input_images(whole(batch), example, augmentation);
}

Value Model::convolution(Value x, std::int64_t channels, const Window& window) {
  const std::int64_t inputs = step_.graph.type(x).dims.back();
  const Value weights = parameter("weight", {channels, window.kernel, window.kernel, inputs},
                                  fan_in_uniform(inputs * window.kernel * window.kernel));
  return convolution(x, weights, window);
}

Value Model::convolution(Value x, Value weights, const Window& window) {
  return builder_.convolution(x, in_element(weights), window);
}

Value Model::depthwise_convolution(Value x, const Window& window) {
  const std::int64_t channels = step_.graph.type(x).dims.back();
  const Value weights = parameter("weight", {channels, window.kernel, window.kernel, 1},
                                  fan_in_uniform(window.kernel * window.kernel));
  return builder_.convolution(x, in_element(weights), window, channels);
}

Value Model::normalize(Value x, const Normalization& options) {
  const Initializer ones{.kind = Initializer::Kind::Ones, .scale = 1, .source = {}};
  return normalize_by(x, parameter("scale", {step_.graph.type(x).dims.back()}, ones), options);
}

Value Model::normalize_shift_only(Value x, const Normalization& options) {
  const Initializer ones{.kind = Initializer::Kind::Ones, .scale = 1, .source = {}};
  return normalize_by(x, constant("scale", {step_.graph.type(x).dims.back()}, ones), options);
}

Value Model::normalize_by(Value x, Value scale, const Normalization& options) {
  const std::vector<std::int64_t> channels{step_.graph.type(x).dims.back()};
  const Initializer zeros{};
  const Initializer ones{.kind = Initializer::Kind::Ones, .scale = 1, .source = {}};
  const Value shift = parameter("shift", channels, zeros);
  const VariableId mean = statistic("running_mean", channels, zeros);
  const VariableId variance = statistic("running_variance", channels, ones);
  if (mode_ == Mode::Training) return builder_.normalize(x, scale, shift, mean, variance, options);
  return builder_.normalize_inference(x, scale, shift, builder_.read(mean), builder_.read(variance),
                                      options.epsilon);
}

Value Model::dense(Value x, std::int64_t outputs, const Initializer& initializer) {
  const std::int64_t inputs = step_.graph.type(x).dims.back();
  return dense(x, parameter("weight", {outputs, inputs}, initializer));
}

Value Model::dense(Value x, Value weights) { return builder_.dense(x, in_element(weights)); }

Value Model::embed(Value tokens, Value table) { return builder_.embed(tokens, in_element(table)); }

Value Model::layer_normalize(Value x, const LayerNormalization& options) {
  const Initializer ones{.kind = Initializer::Kind::Ones, .scale = 1, .source = {}};
  return builder_.layer_normalize(x, parameter("gain", {step_.graph.type(x).columns()}, ones),
                                  options);
}

Value Model::bias(Value x, const Initializer& initializer) {
  return builder_.bias(x, parameter("bias", {step_.graph.type(x).dims.back()}, initializer));
}

NodeId Model::update(const Parameter& parameter, Value gradient, const Optimizer& optimizer) {
  const Variable& trained = step_.graph.variable(parameter.variable);
  const std::string name = trained.name;
  const std::vector<std::int64_t> dims = trained.type.dims;
  if (const auto* sgd = std::get_if<SgdOptions>(&optimizer)) {
    const VariableId velocity = add_variable(name + ".velocity", dims, VariableKind::Slot, {});
    return builder_.sgd(gradient, parameter.variable, velocity, *sgd);
  }
  if (const auto* muon = std::get_if<MuonOptions>(&optimizer)) {
    const VariableId momentum = add_variable(name + ".momentum", dims, VariableKind::Slot, {});
    return builder_.muon(gradient, parameter.variable, momentum, *muon);
  }
  const VariableId first = add_variable(name + ".first_moment", dims, VariableKind::Slot, {});
  const VariableId second = add_variable(name + ".second_moment", dims, VariableKind::Slot, {});
  return builder_.adam(gradient, parameter.variable, first, second,
                       std::get<AdamOptions>(optimizer));
}

/// The slow copy of a statistic counts as a statistic, so that each replica has its own.
NodeId Model::look_ahead(VariableId variable, const LookaheadOptions& options) {
  const Variable& fast = step_.graph.variable(variable);
  const VariableKind kind =
      fast.kind == VariableKind::Statistic ? VariableKind::Statistic : VariableKind::Slot;
  const Initializer same = first_value_of(fast);
  const std::string name = fast.name;
  const std::vector<std::int64_t> dims = fast.type.dims;
  return builder_.lookahead(variable, add_variable(name + ".slow", dims, kind, same), options);
}

Step Model::finish_training(Value loss, const Training& training) {
  std::vector<Value> values;
  for (const Parameter& parameter : parameters_) values.push_back(parameter.value);
  const std::vector<Value> gradients = gradient(step_.graph, loss, values);
  builder_.in(Phase::Update);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    builder_.layer(parameter.layer);
    Trainable trainable{.variable = parameter.variable, .gradient = gradients[i], .updates = {}};
    const std::string name = step_.graph.variable(parameter.variable).name;
    trainable.updates.push_back(update(parameter, gradients[i], training.optimizer(name)));
    if (training.lookahead) {
      trainable.updates.push_back(look_ahead(parameter.variable, *training.lookahead));
    }
    step_.trainables.push_back(trainable);
  }
  for (const auto& [variable, layer] : statistics_) {
    builder_.layer(layer);
    if (training.lookahead) look_ahead(variable, *training.lookahead);
  }
  step_.losses = {loss};
  step_.global_batch = training.global_batch;
  step_.normalization_group = training.normalization_group;
  step_.gradient_clip = training.gradient_clip;
  verify(step_, "building the model");
  return std::move(step_);
}

Step Model::finish_classification(Value logits, Value labels, std::int64_t batch) {
  layer("loss");
  const Value loss = builder_.softmax_cross_entropy(logits, labels, CrossEntropy{});
  return finish_evaluation({loss, builder_.count_correct(logits, labels)}, batch);
}

Step Model::finish_evaluation(std::vector<Value> outputs, std::int64_t batch) {
  step_.losses = std::move(outputs);
  step_.global_batch = batch;
  verify(step_, "building the evaluation");
  return std::move(step_);
}

}  // namespace regatta::workloads
