// SPDX-License-Identifier: Apache-2.0
//
// MobileNetV2's graph against the sizes in its source, layer by layer if a block differs from the
// paper's; and the requirements of its recipes on the harness.
#include "workloads/mobilenet_v2.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/distribute/traffic.h"
#include "strategies/test_support.h"
#include "workloads/data/shapes.h"

namespace regatta::workloads {
namespace {

Recipe recipe_of(std::int64_t batch) {
  Recipe recipe;
  recipe.global_batch = batch;
  recipe.train_examples = 50'000;
  recipe.total_examples = 100 * batch;
  recipe.evaluation_batch = batch;
  return recipe;
}

std::int64_t parameters_of(const Graph& graph) {
  std::int64_t elements = 0;
  for (const Variable& variable : graph.variables()) {
    if (variable.kind == VariableKind::Parameter) elements += variable.type.elements();
  }
  return elements;
}

/// `op layer type` of each node in the layers with this prefix.
std::string outline(const Graph& graph, const std::string& prefix) {
  std::string text;
  for (const Node& node : graph.nodes()) {
    if (!node.layer.starts_with(prefix) || node.op == Op::Read) continue;
    text += std::string(to_string(node.op)) + ' ' + node.layer + ' ' + to_string(node.outputs[0]);
    text += '\n';
  }
  return text;
}

// Counted in the source's network: 2,296,922 parameters, 91,154,944 multiply-adds a forward image.
TEST(MobileNetV2, HasTheParametersAndMultiplyAddsOfItsSource) {
  const Step step = mobilenet_v2().evaluation(recipe_of(1));
  EXPECT_EQ(parameters_of(step.graph), 2'296'922);
  std::int64_t count = 0;
  for (NodeId id = 0; id < static_cast<NodeId>(step.graph.nodes().size()); ++id) {
    const Op op = step.graph.node(id).op;
    if (op == Op::Convolution || op == Op::Dense) count += multiply_adds(step.graph, id);
  }
  EXPECT_EQ(count, 91'154'944);
}

TEST(MobileNetV2, TrainsWhatItEvaluates) {
  for (const Workload& workload : {mobilenet_v2(), mobilenet_v2_full()}) {
    const Step step = workload.training(recipe_of(64));
    EXPECT_EQ(parameters_of(step.graph), 2'296'922);
    EXPECT_EQ(step.trainables.size(), 3U * 57 + 2);  // convolutions with scale and shift, and the
                                                     // classifier
    EXPECT_EQ(step.normalization_group, 32);
  }
}

TEST(MobileNetV2, ExpandsFiltersAndProjectsInABlock) {
  const Step step = mobilenet_v2().evaluation(recipe_of(1));
  EXPECT_EQ(outline(step.graph, "block4."),  // the first block of the third stage halves the image
            "convolution block4.expand f32[1,32,32,144]\n"
            "normalize_inference block4.expand f32[1,32,32,144]\n"
            "relu block4.expand f32[1,32,32,144]\n"
            "convolution block4.depthwise f32[1,16,16,144]\n"
            "normalize_inference block4.depthwise f32[1,16,16,144]\n"
            "relu block4.depthwise f32[1,16,16,144]\n"
            "convolution block4.project f32[1,16,16,32]\n"
            "normalize_inference block4.project f32[1,16,16,32]\n");
}

TEST(MobileNetV2, ProjectsTheShortcutWhereChannelsChangeAtStrideOne) {
  const Step step = mobilenet_v2().evaluation(recipe_of(1));
  EXPECT_EQ(outline(step.graph, "block2.shortcut"),
            "convolution block2.shortcut f32[1,32,32,24]\n"
            "normalize_inference block2.shortcut f32[1,32,32,24]\n"
            "add block2.shortcut f32[1,32,32,24]\n");
  EXPECT_EQ(outline(step.graph, "block3.shortcut"), "");
  std::int64_t sums = 0;
  for (const Node& node : step.graph.nodes()) sums += node.op == Op::Add ? 1 : 0;
  EXPECT_EQ(sums, 14);  // of 17 blocks, those that keep the image's size
}

TEST(MobileNetV2, GivesEachReplicaABatchOf64) {
  EXPECT_EQ(default_global_batch(mobilenet_v2(), 1), 64);
  EXPECT_EQ(default_global_batch(mobilenet_v2(), 3), 192);
  EXPECT_EQ(default_global_batch(mobilenet_v2_full(), 3), 128);
}

TEST(MobileNetV2, UpdatesByAdamOrByTheSourcesRecipe) {
  const Recipe recipe = recipe_of(64);
  const Step textbook = mobilenet_v2().training(recipe);
  for (const Node& node : textbook.graph.nodes()) {
    EXPECT_NE(node.op, Op::Sgd);
    if (node.op != Op::Adam) continue;
    EXPECT_EQ(node.attributes.reals("schedule_values"), std::vector<double>{0.001});
  }
  const Step complete = mobilenet_v2_full().training(recipe);
  for (const Node& node : complete.graph.nodes()) {
    EXPECT_NE(node.op, Op::Adam);
    if (node.op != Op::Sgd) continue;
    const std::vector<double>& examples = node.attributes.reals("schedule_examples");
    const std::vector<double>& rates = node.attributes.reals("schedule_values");
    EXPECT_EQ(examples.back(), 6400);
    EXPECT_EQ(rates.front(), 0.1);
    EXPECT_NEAR(rates.at(rates.size() / 2), 0.05, 1e-12);  // the cosine is at half of its peak
                                                           // after half of the run
    EXPECT_NEAR(rates.back(), 0, 1e-12);
    EXPECT_EQ(node.attributes.real("weight_decay"), 5e-4);
  }
}

TEST(MobileNetV2, LearnsAFewShapesByHeart) {
  const DataSet shapes = make_shapes(20, Split::Train, 40);
  testing_support::TrialOptions options;
  options.steps = 15;
  testing_support::Trial run(testing_support::mobilenet_v2_narrow().training(recipe_of(40)), shapes,
                             options);
  const std::vector<float> losses = run.losses();
  EXPECT_NEAR(losses.front(), std::log(10.0), 0.1);  // ten classes, untrained
  EXPECT_LT(losses.back(), losses.front() - 0.5);
}

}  // namespace
}  // namespace regatta::workloads
