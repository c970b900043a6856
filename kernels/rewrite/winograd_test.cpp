// SPDX-License-Identifier: Apache-2.0
#include "kernels/rewrite/winograd.h"

#include <gtest/gtest.h>

#include "kernels/graph/builder.h"
#include "kernels/graph/gradient.h"
#include "kernels/graph/text.h"

namespace regatta {
namespace {

struct Layer {
  std::int64_t side = 16, inputs = 128, outputs = 128;
  Window window{.kernel = 3, .stride = 1, .padding = 1};
  std::int64_t groups = 1;
  ElementType element = ElementType::F32;
  std::int64_t batch = 4;
};

/// A step that convolves bytes to `inputs` channels, then the layer, a loss and all gradients.
Step step_of(const Layer& layer) {
  Step step;
  Builder builder(step.graph);
  std::vector<Value> parameters;
  const auto weights = [&](const std::string& name, std::vector<std::int64_t> dims) {
    Variable variable;
    variable.name = name;
    variable.type = {ElementType::F32, std::move(dims)};
    const Value value = builder.read(step.graph.add(variable));
    parameters.push_back(value);
    return layer.element == ElementType::F32 ? value : builder.cast(value, layer.element);
  };
  const auto batch = builder.input_images(
      {.batch = layer.batch, .offset = 0, .global_batch = layer.batch, .element = layer.element},
      {ElementType::U8, {layer.side, layer.side, 2}}, Augmentation{});
  const Value x =
      builder.convolution(batch[0], weights("first", {layer.inputs, 1, 1, 2}), {.kernel = 1});
  const std::int64_t kernel = layer.window.kernel;
  const Value y = builder.convolution(
      x, weights("second", {layer.outputs, kernel, kernel, layer.inputs / layer.groups}),
      layer.window, layer.groups);
  const Value features = builder.reshape(y, {step.graph.type(y).elements() / layer.batch});
  const bool wide = layer.element == ElementType::F32;
  const Value logits = wide ? features : builder.cast(features, ElementType::F32);
  const Value loss = builder.softmax_cross_entropy(logits, batch[1], CrossEntropy{});
  step.losses = {loss};
  gradient(step.graph, loss, parameters);
  return step;
}

/// The ops of the nodes that the rewrite marks.
std::vector<Op> marked(const Layer& layer) {
  std::vector<Op> ops;
  const Step step = by_winograd(step_of(layer));
  for (const Node& node : step.graph.nodes()) {
    if (is_by_winograd(node)) ops.push_back(node.op);
  }
  return ops;
}

const std::vector<Op> kAllPasses{Op::Convolution, Op::ConvolutionBackwardWeights,
                                 Op::ConvolutionBackwardData};

TEST(WinogradRewrite, MarksAllPassesOfAWideLayerAndChangesNothingElse) {
  const Step step = step_of({}), rewritten = by_winograd(step);
  EXPECT_EQ(marked({}), kAllPasses);
  std::string text = to_text(rewritten.graph);
  for (std::size_t at; (at = text.find(", winograd=1")) != std::string::npos;) text.erase(at, 12);
  EXPECT_EQ(text, to_text(step.graph));
  EXPECT_TRUE(has_winograd(rewritten.graph));
  EXPECT_FALSE(has_winograd(step.graph));
}

TEST(WinogradRewrite, DoesNotReadTheBatch) {
  EXPECT_EQ(marked({.batch = 1}), kAllPasses);
  EXPECT_EQ(marked({.side = 3, .batch = 1}), kAllPasses);
  EXPECT_EQ(marked({.inputs = 15, .batch = 1}), std::vector<Op>{});
  EXPECT_EQ(marked({.inputs = 15, .batch = 64}), std::vector<Op>{});
}

TEST(WinogradRewrite, LeavesLayersOfFewChannelsAlone) {
  EXPECT_EQ(marked({.inputs = 16, .outputs = 16}), kAllPasses);
  EXPECT_EQ(marked({.side = 96, .inputs = 15, .outputs = 256}), std::vector<Op>{});
  EXPECT_EQ(marked({.side = 96, .inputs = 256, .outputs = 15}), std::vector<Op>{});
}

TEST(WinogradRewrite, WantsMoreChannelsAndWholeTilesInBf16) {
  const auto bf16 = [](std::int64_t side, std::int64_t inputs, std::int64_t outputs) {
    return marked(
        {.side = side, .inputs = inputs, .outputs = outputs, .element = ElementType::BF16});
  };
  EXPECT_EQ(bf16(8, 64, 64), kAllPasses);
  EXPECT_EQ(bf16(8, 63, 64), std::vector<Op>{});
  EXPECT_EQ(bf16(8, 64, 63), std::vector<Op>{});
  EXPECT_EQ(bf16(7, 64, 64), std::vector<Op>{});
}

TEST(WinogradRewrite, LeavesOtherWindowsStridesAndGroupsAlone) {
  EXPECT_EQ(marked({.window = {.kernel = 5, .stride = 1, .padding = 2}}), std::vector<Op>{});
  EXPECT_EQ(marked({.window = {.kernel = 3, .stride = 2, .padding = 1}}), std::vector<Op>{});
  EXPECT_EQ(marked({.window = {.kernel = 3, .stride = 1, .padding = 0}}), std::vector<Op>{});
  EXPECT_EQ(marked({.groups = 2}), std::vector<Op>{});
}

}  // namespace
}  // namespace regatta
