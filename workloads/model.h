// SPDX-License-Identifier: Apache-2.0
//
// Builds a model's step layer by layer, for training or for evaluation. Parameters are named by
// layer, such as `stem.weight`; variables with the same name in the training and the evaluation
// graph are the same variable. A layer that is applied again, for example to another view of the
// images, reuses its parameters. A model in bf16 stores its variables in f32; images, activations
// and the weights of convolutions and dense layers are in bf16, and each weight is cast once per
// step. Statistics, biases, the loss and gradients of weights are f32.
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

namespace regatta::workloads {

enum class Mode : std::uint8_t { Training, Evaluation };

/// The optimizers and the batch of a training step.
struct Training {
  /// Returns the optimizer of the parameter with this name.
  std::function<Optimizer(const std::string&)> optimizer;
  /// Options of the lookahead of all parameters and running statistics; empty: no lookahead.
  std::optional<LookaheadOptions> lookahead = {};
  std::int64_t global_batch = 0;
  std::int64_t normalization_group = 1;
  double gradient_clip = 0;  ///< limit of the norm of all gradients together; 0: none
};

class Model {
 public:
  explicit Model(Mode mode, ElementType element = ElementType::F32)
      : builder_(step_.graph), mode_(mode), element_(element) {}

  Mode mode() const { return mode_; }
  Builder& builder() { return builder_; }
  /// Begins a layer. Nodes that are appended from here on belong to it.
  void layer(const std::string& name);

  /// Adds a variable that is trained and returns its value.
  Value parameter(const std::string& name, std::vector<std::int64_t> dims,
                  const Initializer& initializer);

  /// Adds a variable that is not trained and returns its value.
  Value constant(const std::string& name, std::vector<std::int64_t> dims,
                 const Initializer& initializer);

  /// Returns the images and labels of a whole batch: shuffled and augmented in training, in the
  /// data set's order in evaluation.
  std::vector<Value> images(std::int64_t batch, const TensorType& example,
                            const Augmentation& augmentation);
  /// Appends a convolution without a bias, with new weights. Their initial values are PyTorch's
  /// default: uniform in ±1 / sqrt(fan in). Shapes: x [B, H, W, I] to [B, H', W', channels].
  Value convolution(Value x, std::int64_t channels, const Window& window);
  /// Appends a convolution with the given weights. Shapes: w [O, K, K, I].
  Value convolution(Value x, Value weights, const Window& window);
  /// Convolves each channel separately, with new weights that are initially uniform in ±1 /
  /// sqrt(fan in). Shapes: x [B, H, W, C] to [B, H', W', C].
  Value depthwise_convolution(Value x, const Window& window);
  /// Appends a batch normalisation with trained scale and shift, initially 1 and 0. Evaluation uses
  /// the running statistics.
  Value normalize(Value x, const Normalization& options);
  /// Appends a batch normalisation with a trained shift, initially 0; the scale stays 1.
  Value normalize_shift_only(Value x, const Normalization& options);
  /// Appends a dense layer without a bias. Shapes: x [B, I] to [B, outputs].
  Value dense(Value x, std::int64_t outputs, const Initializer& initializer);
  /// Appends a dense layer with the given weights. Shapes: w [O, I] or [P, O, I].
  Value dense(Value x, Value weights);
  /// Returns the rows of a parameter with the tokens' numbers. Shapes: tokens [...] i32, table
  /// [V, C], result [..., C].
  Value embed(Value tokens, Value table);
  /// Normalises each row, with a trained gain that is initially 1. Shapes: x [..., C].
  Value layer_normalize(Value x, const LayerNormalization& options);
  Value bias(Value x, const Initializer& initializer = Initializer{});
  /// Returns x cast to f32, as losses and metrics require; x itself if it is in f32.
  Value as_f32(Value x);

  /// Returns a slice that is the whole batch: shuffled in training, in the data set's order in
  /// evaluation.
  InputSlice whole(std::int64_t batch) const {
    return {.batch = batch,
            .offset = 0,
            .global_batch = batch,
            .order = mode_ == Mode::Training ? ExampleOrder::Shuffled : ExampleOrder::Sequential,
            .element = element_};
  }

  /// Appends the backward nodes and one update per parameter, and returns the training step.
  Step finish_training(Value loss, const Training& training);
  /// Returns an evaluation step whose outputs are the cross-entropy and the number of correctly
  /// classified examples.
  Step finish_classification(Value logits, Value labels, std::int64_t batch);
  /// Returns an evaluation step. `outputs` are scalars that the harness adds up over batches: the
  /// loss and, if the metric is another, that metric.
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
  /// Running statistics with their layers.
  std::vector<std::pair<VariableId, std::string>> statistics_;
  std::map<std::string, VariableId> variables_;  ///< running statistics, keyed by name
  std::map<std::string, Value> reads_;  ///< values of parameters and constants, keyed by name
  std::map<Value, Value> casts_;        ///< casts of parameters' values, keyed by the value in f32
};

/// Returns an initializer that is uniform in ±1 / sqrt(fan_in). Source: PyTorch, nn.Linear and
/// nn.Conv2d, reset_parameters().
Initializer fan_in_uniform(std::int64_t fan_in);

/// Half a cosine from one value to another. Units: examples.
struct Cosine {
  double begin = 0;
  double end = 0;
  double from = 0;
  double to = 0;
  int pieces = 40;
};
/// Appends the cosine to the schedule, linear in each piece, with an error of at most
/// pi² / (16 pieces²) of from - to.
void append_cosine(Schedule& schedule, const Cosine& cosine);

}  // namespace regatta::workloads
