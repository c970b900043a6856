// SPDX-License-Identifier: Apache-2.0
//
// Runs a step before and after fuse() by the interpreter: losses, gradients and running statistics
// are equal. The model contains every pattern; it is small, because the loops are slow.
#include <algorithm>

#include "kernels/graph/gradient.h"
#include "kernels/reference/test_support.h"
#include "kernels/rewrite/fuse.h"

namespace regatta::reference {
namespace {

constexpr std::int64_t kBatch = 4;
constexpr Window kHalve{.kernel = 2, .stride = 2, .padding = 0};
constexpr Window kSame{.kernel = 3, .stride = 1, .padding = 1};

struct Training {
  Step step;
  Value images;
  Value labels;
};

class ModelBuilder {
 public:
  ModelBuilder() : builder_(training_.step.graph) {}

  Training build() {
    const auto batch = builder_.input_images({.batch = kBatch, .offset = 0, .global_batch = kBatch},
                                             {ElementType::U8, {13, 13, 3}}, Augmentation{});
    training_.images = batch[0];
    training_.labels = batch[1];
    Value x = builder_.gelu(builder_.bias(convolution(batch[0], 4), parameter("b", {4})));
    // airbench94
    x = builder_.gelu(normalize(builder_.max_pool(convolution(x, 8), kHalve)));
    x = builder_.gelu(normalize(convolution(x, 8)));
    // resnet9
    x = builder_.max_pool(builder_.relu(normalize(convolution(x, 6))), kHalve);
    x = builder_.add(x, builder_.relu(normalize(convolution(x, 6))));
    // mobilenet_v2
    x = builder_.add(normalize(convolution(x, 6)), x);
    finish(x);
    return std::move(training_);
  }

 private:
  VariableId variable(const std::string& name, test::Dims dims, VariableKind kind) {
    Variable variable;
    variable.name = name;
    variable.type.dims = std::move(dims);
    variable.kind = kind;
    variable.initializer = Initializer{.kind = Initializer::Kind::Uniform, .scale = 0.5};
    return training_.step.graph.add(variable);
  }

  Value parameter(const std::string& name, test::Dims dims) {
    const VariableId id = variable(name + std::to_string(parameters_.size()), std::move(dims),
                                   VariableKind::Parameter);
    parameters_.push_back(builder_.read(id));
    training_.step.trainables.push_back({.variable = id, .gradient = {}, .updates = {}});
    return parameters_.back();
  }

  Value convolution(Value x, std::int64_t channels) {
    const std::int64_t inputs = training_.step.graph.type(x).dim(3);
    return builder_.convolution(x, parameter("w", {channels, 3, 3, inputs}), kSame);
  }

  Value normalize(Value x) {
    const test::Dims channels{training_.step.graph.type(x).dim(3)};
    const Value scale = parameter("scale", channels), shift = parameter("shift", channels);
    const std::string number = std::to_string(parameters_.size());
    const VariableId mean = variable("mean" + number, channels, VariableKind::Statistic);
    const VariableId variance = variable("variance" + number, channels, VariableKind::Statistic);
    return builder_.normalize(x, scale, shift, mean, variance, {.group = 2});
  }

  void finish(Value x) {
    Step& step = training_.step;
    const Value flat = builder_.reshape(x, {step.graph.type(x).elements() / kBatch});
    const Value loss = builder_.softmax_cross_entropy(flat, training_.labels, {.divisor = kBatch});
    const std::vector<Value> gradients = gradient(step.graph, loss, parameters_);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      Trainable& trainable = step.trainables[i];
      trainable.gradient = gradients[i];
      const VariableId velocity =
          variable("velocity" + std::to_string(i),
                   step.graph.variable(trainable.variable).type.dims, VariableKind::Slot);
      trainable.updates = {
          builder_.sgd(gradients[i], trainable.variable, velocity, SgdOptions{.rate = {{0}, {0}}})};
    }
    step.losses = {loss};
    step.global_batch = kBatch;
    step.normalization_group = 2;
  }

  Training training_;
  Builder builder_;
  std::vector<Value> parameters_;
};

/// Loss, gradients and running statistics of one step.
std::vector<std::vector<float>> results_of(const Step& step, const Training& inputs) {
  Interpreter interpreter(step.graph, 7);
  std::vector<float> images;
  for (int i = 0; i < kBatch * 13 * 13 * 3; ++i) {
    images.push_back(static_cast<float>(i * 37 % 101) / 50 - 1);
  }
  interpreter.set(inputs.images, images);
  interpreter.set(inputs.labels, std::vector<std::int32_t>{3, 1, 4, 1});
  interpreter.run_all({});
  std::vector<std::vector<float>> results{test::elements(interpreter, step.losses[0])};
  for (const Trainable& trainable : step.trainables) {
    results.push_back(test::elements(interpreter, trainable.gradient));
  }
  for (VariableId v = 0; v < static_cast<VariableId>(step.graph.variables().size()); ++v) {
    const Variable& variable = step.graph.variable(v);
    if (variable.kind != VariableKind::Statistic) continue;
    const float* values = interpreter.variable(v);
    results.emplace_back(values, values + variable.type.elements());
  }
  return results;
}

TEST(FusedStep, YieldsTheSameLossGradientsAndRunningStatistics) {
  const Training training = ModelBuilder().build();
  const Step fused = fuse(training.step);
  const auto& nodes = fused.graph.nodes();
  const auto count = [&](Op op) {
    return std::count_if(nodes.begin(), nodes.end(), [op](const Node& n) { return n.op == op; });
  };
  EXPECT_EQ(count(Op::FusedNormalize), 5);
  EXPECT_EQ(count(Op::FusedNormalizeBackward), 5);
  EXPECT_EQ(count(Op::FusedBiasBackward), 1);
  for (Op gone : {Op::Normalize, Op::Relu, Op::Gelu, Op::MaxPool, Op::MaxPoolBackward, Op::Bias}) {
    EXPECT_EQ(count(gone), 0) << to_string(gone);
  }
  const auto expected = results_of(training.step, training);
  const auto actual = results_of(fused, training);
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    float largest = 0;
    for (float value : expected[i]) largest = std::max(largest, std::abs(value));
    EXPECT_GT(largest, 0) << "result " << i;
    test::expect_near(actual[i], expected[i], 2e-6F * largest);
  }
}

}  // namespace
}  // namespace regatta::reference
