// SPDX-License-Identifier: Apache-2.0
//
// fuse(): a small graph in, text out. strategies/fusion_test.cpp trains fused steps.
#include "kernels/rewrite/fuse.h"

#include <gtest/gtest.h>

#include "kernels/graph/builder.h"
#include "kernels/graph/gradient.h"
#include "kernels/graph/text.h"
#include "kernels/graph/verify.h"

namespace regatta {
namespace {

Step verified_fuse(const Step& step) {
  Step fused = fuse(step);
  verify(fused, "fuse");
  return fused;
}

constexpr Window kHalve{.kernel = 2, .stride = 2, .padding = 0};

/// A step that begins with images [4, 6, 6, 2] and a 1x1 convolution with parameter `w`, and ends
/// with a loss; `between` maps the convolution's result to the loss's input. Trains all parameters.
class Model {
 public:
  Model() : builder_(step_.graph) {}

  Builder& builder() { return builder_; }
  Value parameter(const std::string& name, std::vector<std::int64_t> dims) {
    const Value value = builder_.read(variable(name, std::move(dims)));
    parameters_.push_back(value);
    return value;
  }
  /// Excludes the parameters made so far from training.
  void freeze() { parameters_.clear(); }
  Value statistic(const std::string& name) { return builder_.read(variable(name, {2})); }
  Value normalize(Value x) {
    const Value scale = parameter("scale", {2}), shift = parameter("shift", {2});
    return builder_.normalize(x, scale, shift, variable("mean", {2}), variable("variance", {2}),
                              {.group = 2});
  }
  Value images() {
    const auto batch = builder_.input_images({.batch = 4, .offset = 0, .global_batch = 4},
                                             {ElementType::U8, {6, 6, 2}}, Augmentation{});
    labels_ = batch[1];
    return builder_.convolution(batch[0], parameter("w", {2, 1, 1, 2}), {.kernel = 1});
  }
  Step train(Value y) {
    const auto& dims = step_.graph.type(y).dims;
    const Value logits = builder_.reshape(y, {dims[1] * dims[2] * dims[3]});
    const Value loss = builder_.softmax_cross_entropy(logits, labels_, CrossEntropy{});
    step_.losses = {loss};
    gradients_ = gradient(step_.graph, loss, parameters_);
    return step_;
  }
  Step infer(Value y) {
    step_.losses = {builder_.softmax_cross_entropy(
        builder_.reshape(y, {step_.graph.type(y).elements() / 4}), labels_, CrossEntropy{})};
    return step_;
  }

 private:
  VariableId variable(const std::string& name, std::vector<std::int64_t> dims) {
    Variable variable;
    variable.name = name;
    variable.type.dims = std::move(dims);
    return step_.graph.add(variable);
  }

  Step step_;
  Builder builder_;
  Value labels_;
  std::vector<Value> parameters_;
  std::vector<Value> gradients_;
};

/// The ops of a step in order, without reads, input, reshape and those of the loss.
std::string ops_of(const Step& step) {
  std::string text;
  for (const Node& node : step.graph.nodes()) {
    const bool uninteresting = node.op == Op::Read || node.op == Op::Input ||
                               node.op == Op::Reshape || node.op == Op::SoftmaxCrossEntropy ||
                               node.op == Op::SoftmaxCrossEntropyBackward;
    if (!uninteresting)
      text += std::string(text.empty() ? "" : " ") + std::string(to_string(node.op));
  }
  return text;
}

std::string line_of(const Step& step, const std::string& op) {
  const std::string text = to_text(step.graph);
  const std::size_t at = text.find(" = " + op + "(");
  if (at == std::string::npos) return "no " + op + " in\n" + text;
  const std::size_t begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

TEST(Fuse, PutsPoolNormalizationAndActivationIntoOneOpEachWay) {
  Model model;
  const Value x = model.images();
  const Step step =
      model.train(model.builder().gelu(model.normalize(model.builder().max_pool(x, kHalve))));
  EXPECT_EQ(ops_of(step),
            "convolution max_pool normalize gelu gelu_backward normalize_backward "
            "max_pool_backward convolution_backward_weights");
  const Step fused = verified_fuse(step);
  EXPECT_EQ(ops_of(fused),
            "convolution fused_normalize fused_normalize_backward convolution_backward_weights");
  EXPECT_EQ(line_of(fused, "fused_normalize"),
            "%5 = fused_normalize(%2, %3, %4; mean, variance) {activation=gelu, epsilon=1e-05, "
            "group=2, momentum=0.1, pool=before, window=2} f32[4,3,3,2] f32[2,2] f32[2,2] "
            "f32[4,3,3,2] u8[4,3,3,2] @replica0 forward");
  EXPECT_EQ(line_of(fused, "fused_normalize_backward"),
            "%10 = fused_normalize_backward(%9, %5.3, %3, %4, %5.1, %5.2, %5.4) {activation=gelu, "
            "dims=[4,6,6,2], group=2, pool=before, window=2} f32[4,6,6,2] f32[2] f32[2] @replica0 "
            "backward");
}

TEST(Fuse, PutsAPoolAfterTheActivationIntoTheSameOp) {
  Model model;
  const Value x = model.images();
  const Step fused = verified_fuse(
      model.train(model.builder().max_pool(model.builder().relu(model.normalize(x)), kHalve)));
  EXPECT_EQ(ops_of(fused),
            "convolution fused_normalize fused_normalize_backward convolution_backward_weights");
  EXPECT_EQ(line_of(fused, "fused_normalize_backward"),
            "%10 = fused_normalize_backward(%9, %5.3, %3, %4, %5.1, %5.2, %5.4, %2) "
            "{activation=relu, dims=[4,6,6,2], group=2, pool=after, window=2} f32[4,6,6,2] f32[2] "
            "f32[2] @replica0 backward");
}

TEST(Fuse, AddsTheResidualAndLetsItsGradientBeTheIncomingOne) {
  Model model;
  const Value x = model.images();
  const Value y = model.builder().add(x, model.builder().relu(model.normalize(x)));
  const Step step = model.train(y);
  const Step fused = verified_fuse(step);
  EXPECT_EQ(ops_of(fused),
            "convolution fused_normalize fused_normalize_backward add "
            "convolution_backward_weights");
  EXPECT_EQ(line_of(fused, "fused_normalize"),
            "%5 = fused_normalize(%2, %3, %4, %2; mean, variance) {activation=relu, "
            "epsilon=1e-05, group=2, momentum=0.1} f32[4,6,6,2] f32[2,2] f32[2,2] @replica0 "
            "forward");
  EXPECT_EQ(line_of(fused, "add"), "%11 = add(%9, %10) f32[4,6,6,2] @replica0 backward");
}

TEST(Fuse, LeavesOutTheActivationOfALinearBottleneck) {
  Model model;
  const Value x = model.images();
  const Step fused = verified_fuse(model.train(model.builder().add(x, model.normalize(x))));
  EXPECT_EQ(ops_of(fused),
            "convolution fused_normalize fused_normalize_backward add "
            "convolution_backward_weights");
}

TEST(Fuse, PutsBiasAndActivationIntoOneOpEachWay) {
  Model model;
  const Value x = model.images();
  const Step fused = verified_fuse(
      model.train(model.builder().gelu(model.builder().bias(x, model.parameter("b", {2})))));
  EXPECT_EQ(ops_of(fused),
            "convolution fused_bias fused_bias_backward convolution_backward_weights");
  EXPECT_NE(line_of(fused, "fused_bias_backward").find("data=1} f32[2] f32[4,6,6,2] @"),
            std::string::npos);
}

TEST(Fuse, AsksABiasForNoDataWhereNothingBelowIsTrained) {
  Model model;
  const Value x = model.images();
  model.freeze();
  const Step fused = verified_fuse(
      model.train(model.builder().gelu(model.builder().bias(x, model.parameter("b", {2})))));
  EXPECT_EQ(ops_of(fused), "convolution fused_bias fused_bias_backward");
  EXPECT_NE(line_of(fused, "fused_bias_backward").find("data=0} f32[2] @"), std::string::npos);
}

TEST(Fuse, FusesEvaluation) {
  Model model;
  const Value x = model.images();
  const Value scale = model.statistic("scale"), shift = model.statistic("shift");
  const Value mean = model.statistic("mean"), variance = model.statistic("variance");
  const Value z = model.builder().normalize_inference(x, scale, shift, mean, variance, 1e-5);
  const Step fused =
      verified_fuse(model.infer(model.builder().max_pool(model.builder().relu(z), kHalve)));
  EXPECT_EQ(ops_of(fused), "convolution fused_normalize_inference");
  EXPECT_EQ(line_of(fused, "fused_normalize_inference"),
            "%7 = fused_normalize_inference(%2, %3, %4, %5, %6) {activation=relu, epsilon=1e-05, "
            "pool=after, window=2} f32[4,3,3,2] @replica0 forward");
}

TEST(Fuse, LeavesAloneWhatIsUsedElsewhereAndTakesTheRest) {
  Model model;
  const Value pooled = model.builder().max_pool(model.images(), kHalve);
  const Value z = model.normalize(pooled);
  const Step fused = verified_fuse(model.train(model.builder().add(model.builder().gelu(z), z)));
  // z has two users: the pool is fused, the activation and the sum are not.
  EXPECT_EQ(ops_of(fused),
            "convolution fused_normalize gelu add gelu_backward add fused_normalize_backward "
            "convolution_backward_weights");
  EXPECT_NE(line_of(fused, "fused_normalize")
                .find("{epsilon=1e-05, group=2, momentum=0.1, "
                      "pool=before, window=2}"),
            std::string::npos);
}

TEST(Fuse, LeavesOverlappingAndPaddedWindowsAlone) {
  for (const Window& window : {Window{.kernel = 3, .stride = 2, .padding = 0},
                               Window{.kernel = 2, .stride = 2, .padding = 1}}) {
    Model model;
    const Value x = model.builder().max_pool(model.images(), window);
    const Step fused = verified_fuse(model.train(model.builder().relu(model.normalize(x))));
    EXPECT_EQ(ops_of(fused),
              "convolution max_pool fused_normalize fused_normalize_backward max_pool_backward "
              "convolution_backward_weights");
  }
}

TEST(Fuse, ChangesNothingWhereNothingMatchesAndNothingTheSecondTime) {
  Model model;
  const Step single = model.train(model.normalize(model.images()));
  EXPECT_EQ(to_text(verified_fuse(single).graph), to_text(single.graph));
  Model other;
  const Step fused =
      verified_fuse(other.train(other.builder().relu(other.normalize(other.images()))));
  EXPECT_EQ(to_text(verified_fuse(fused).graph), to_text(fused.graph));
}

}  // namespace
}  // namespace regatta
