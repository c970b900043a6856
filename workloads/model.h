// SPDX-License-Identifier: Apache-2.0
//
// Builds a model's step layer by layer, for training or for evaluation. A layer's parameters are
// named `layer.weight` and so on; the same names in both graphs are the same variables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/graph/builder.h"
#include "kernels/graph/graph.h"

namespace regatta {

enum class Mode : std::uint8_t { Training, Evaluation };

class Model {
 public:
  explicit Model(Mode mode) : builder_(step_.graph), mode_(mode) {}

  Mode mode() const { return mode_; }
  Builder& builder() { return builder_; }
  /// Nodes that follow belong to this layer.
  void layer(const std::string& name);

  /// A variable that is trained; returns its value.
  Value parameter(const std::string& name, std::vector<std::int64_t> dims,
                  const Initializer& initializer);

  /// No bias. PyTorch's default initialisation: uniform in ±1 / sqrt(fan in).
  /// Shapes: x [B, H, W, I] to [B, H', W', channels].
  Value convolution(Value x, std::int64_t channels, const Window& window);
  /// Scale 1 and shift 0 at first. In evaluation by the running statistics.
  Value normalize(Value x, const Normalization& options);
  /// No bias. Shapes: x [B, I] to [B, outputs].
  Value dense(Value x, std::int64_t outputs, const Initializer& initializer);
  Value bias(Value x);

  /// All examples of a batch, in the order that the mode wants.
  InputSlice whole(std::int64_t batch) const {
    return {.batch = batch,
            .offset = 0,
            .global_batch = batch,
            .order = mode_ == Mode::Training ? ExampleOrder::Shuffled : ExampleOrder::Sequential};
  }

  /// Appends backward nodes and one SGD update a parameter.
  Step finish_training(Value loss, const SgdOptions& sgd, std::int64_t global_batch,
                       std::int64_t normalization_group);
  /// `outputs` are scalars that the harness adds up over batches: the loss, then the metric.
  Step finish_evaluation(std::vector<Value> outputs, std::int64_t batch);

 private:
  struct Parameter {
    VariableId variable = -1;
    Value value;
    std::string layer;
  };

  VariableId add_variable(const std::string& name, std::vector<std::int64_t> dims,
                          VariableKind kind, const Initializer& initializer);

  Step step_;
  Builder builder_;
  Mode mode_;
  std::string layer_;
  std::vector<Parameter> parameters_;
};

/// Uniform in ±1 / sqrt(fan_in). Source: PyTorch, nn.Linear and nn.Conv2d, reset_parameters().
Initializer fan_in_uniform(std::int64_t fan_in);

}  // namespace regatta
