// SPDX-License-Identifier: Apache-2.0
//
// Builds a model's step layer by layer, for training or for evaluation. A layer's parameters are
// named `layer.weight` and so on; equal names in the two graphs are the same variables. A layer
// that is applied again, for example to another view of the images, reuses its parameters. A model
// in bf16 keeps its variables in f32; images, activations and the weights of convolution and dense
// are bf16, and each weight is cast once a step. Statistics, biases, the loss and gradients of
// weights are f32.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/graph/builder.h"
#include "kernels/graph/graph.h"

namespace regatta {

enum class Mode : std::uint8_t { Training, Evaluation };

/// The optimizer part of a training step.
struct Training {
  /// Returns the update of the parameter with this name.
  std::function<Optimizer(const std::string&)> optimizer;
  /// Lookahead of all parameters and running statistics.
  std::optional<LookaheadOptions> lookahead = {};
  std::int64_t global_batch = 0;
  std::int64_t normalization_group = 1;
};

class Model {
 public:
  explicit Model(Mode mode, ElementType element = ElementType::F32)
      : builder_(step_.graph), mode_(mode), element_(element) {}

  Mode mode() const { return mode_; }
  Builder& builder() { return builder_; }
  /// Begins a layer: the following nodes belong to it.
  void layer(const std::string& name);

  /// Adds a trained variable and returns its value.
  Value parameter(const std::string& name, std::vector<std::int64_t> dims,
                  const Initializer& initializer);

  /// Adds a variable that is not trained and returns its value.
  Value constant(const std::string& name, std::vector<std::int64_t> dims,
                 const Initializer& initializer);

  /// Images and labels: all examples of a batch, in the order of the mode.
  std::vector<Value> images(std::int64_t batch, const TensorType& example,
                            const Augmentation& augmentation);
  /// Convolution without a bias. PyTorch's default initialisation: uniform in ±1 / sqrt(fan in).
  /// Shapes: x [B, H, W, I] to [B, H', W', channels].
  Value convolution(Value x, std::int64_t channels, const Window& window);
  /// Convolution with the given weights. Shapes: w [O, K, K, I].
  Value convolution(Value x, Value weights, const Window& window);
  /// Convolves each channel separately, with the same initialisation. Shapes: x [B, H, W, C] to [B,
  /// H', W', C].
  Value depthwise_convolution(Value x, const Window& window);
  /// Starts with scale 1 and shift 0. Evaluation uses the running statistics.
  Value normalize(Value x, const Normalization& options);
  /// Like normalize(), but the scale stays 1.
  Value normalize_shift_only(Value x, const Normalization& options);
  /// Dense layer without a bias. Shapes: x [B, I] to [B, outputs].
  Value dense(Value x, std::int64_t outputs, const Initializer& initializer);
  Value bias(Value x, const Initializer& initializer = Initializer{});
  /// The value cast to f32, as losses and metrics require.
  Value as_f32(Value x);

  /// All examples of a batch, in the order of the mode.
  InputSlice whole(std::int64_t batch) const {
    return {.batch = batch,
            .offset = 0,
            .global_batch = batch,
            .order = mode_ == Mode::Training ? ExampleOrder::Shuffled : ExampleOrder::Sequential,
            .element = element_};
  }

  /// Appends backward nodes and one update for each parameter.
  Step finish_training(Value loss, const Training& training);
  /// Evaluates by cross-entropy and by the number of correctly classified examples.
  Step finish_classification(Value logits, Value labels, std::int64_t batch);
  /// `outputs`: scalars that the harness adds up over batches: the loss, then the metric.
  Step finish_evaluation(std::vector<Value> outputs, std::int64_t batch);

 private:
  struct Parameter {
    VariableId variable = -1;
    Value value;
    std::string layer;
  };

  Value in_element(Value parameter);
  Value normalize_by(Value x, Value scale, const Normalization& options);
  NodeId update(const Parameter& parameter, Value gradient, const Optimizer& optimizer);
  NodeId look_ahead(VariableId variable, const LookaheadOptions& options);
  VariableId statistic(const std::string& name, std::vector<std::int64_t> dims,
                       const Initializer& initializer);
  VariableId add_variable(const std::string& name, std::vector<std::int64_t> dims,
                          VariableKind kind, const Initializer& initializer);

  Step step_;
  Builder builder_;
  Mode mode_;
  ElementType element_;
  std::string layer_;
  std::vector<Parameter> parameters_;
  std::vector<std::pair<VariableId, std::string>> statistics_;  ///< with their layers
  std::map<std::string, VariableId> variables_;                 ///< statistics, by name
  std::map<std::string, Value> reads_;                          ///< values of parameters, by name
  std::map<Value, Value> casts_;                                ///< by the value read
};

/// Uniform in ±1 / sqrt(fan_in). Source: PyTorch, nn.Linear and nn.Conv2d, reset_parameters().
Initializer fan_in_uniform(std::int64_t fan_in);

}  // namespace regatta
