// SPDX-License-Identifier: Apache-2.0
//
// airbench94 against its publication: sizes, rates, first weights, trained and fixed parameters.
#include "workloads/airbench94.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kernels/distribute/traffic.h"
#include "kernels/graph/text.h"
#include "kernels/runtime/initialize.h"
#include "workloads/data/shapes.h"

namespace regatta::workloads {
namespace {

constexpr std::int64_t kBatch = 1024;
constexpr std::int64_t kRunSteps = 476;

Recipe recipe_of(ElementType element) {
  Recipe recipe;
  recipe.global_batch = kBatch;
  recipe.train_examples = 50000;
  recipe.total_examples = kRunSteps * kBatch;
  recipe.evaluation_batch = 500;
  recipe.element = element;
  return recipe;
}

std::int64_t elements_of(const Step& step, bool trained) {
  std::set<VariableId> trainables;
  for (const Trainable& t : step.trainables) trainables.insert(t.variable);
  std::int64_t sum = 0;
  for (VariableId v = 0; v < static_cast<VariableId>(step.graph.variables().size()); ++v) {
    const Variable& variable = step.graph.variable(v);
    if (variable.kind == VariableKind::Parameter && trainables.contains(v) == trained) {
      sum += variable.type.elements();
    }
  }
  return sum;
}

std::map<std::string, Node> updates_of(const Step& step, Op op) {
  std::map<std::string, Node> updates;
  for (const Node& node : step.graph.nodes()) {
    if (node.op == op) updates[step.graph.variable(node.variables[0]).name] = node;
  }
  return updates;
}

// Source: counted from K. Jordan's airbench94.py: 1,971,640 parameters, of which 1,971,352 are
// trained. That includes the frozen filters (288) but not the frozen scales of normalisation
// (1,152).
TEST(Airbench94, HasThePublishedNumberOfParameters) {
  const Step step = airbench94().training(recipe_of(ElementType::F32));
  EXPECT_EQ(elements_of(step, true), 1'971'352);
  EXPECT_EQ(elements_of(step, false), 288 + 1'152);
}

// Source: K. Jordan's airbench94.py, 118,147,360 multiply-adds an image.
TEST(Airbench94, ConvolvesAndMultipliesAsOftenAsPublished) {
  const Step step = airbench94().training(recipe_of(ElementType::BF16));
  std::int64_t count = 0;
  for (NodeId id = 0; id < static_cast<NodeId>(step.graph.nodes().size()); ++id) {
    const Op op = step.graph.node(id).op;
    if (op == Op::Convolution || op == Op::Dense) count += multiply_adds(step.graph, id);
  }
  EXPECT_EQ(count / kBatch, 118'147'360);
}

TEST(Airbench94, TrainsShiftsFasterAndTheFirstBiasOnlyForThreeEpochs) {
  const Step step = airbench94().training(recipe_of(ElementType::F32));
  const auto sgd = updates_of(step, Op::Sgd);
  ASSERT_EQ(sgd.size(), 6U + 6U + 2U);  // convolutions, shifts, the first bias, the head
  const std::vector<double> rates{0.3, 1.5, 0.105};
  for (const auto& [name, node] : sgd) {
    const bool shift = name.ends_with(".shift");
    const std::vector<double>& values = node.attributes.reals("schedule_values");
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_NEAR(values[i], (shift ? 64 : 1) * rates[i], 1e-12) << name;
    }
    EXPECT_NEAR(node.attributes.real("weight_decay"), 1.3304e-3 / (shift ? 64 : 1), 1e-7) << name;
  }
  const Attributes& bias = sgd.at("whiten.bias").attributes;
  EXPECT_EQ(bias.reals("schedule_values").back(), 0);
  EXPECT_EQ(bias.reals("schedule_examples").at(3), 3 * 48 * kBatch);
}

TEST(Airbench94, LooksAheadWithParametersAndRunningStatistics) {
  const Step step = airbench94().training(recipe_of(ElementType::F32));
  EXPECT_EQ(updates_of(step, Op::Lookahead).size(), 14U + 2U * 6U);
}

TEST(Airbench94, KeepsVariablesAndGradientsInF32) {
  const Step step = airbench94().training(recipe_of(ElementType::BF16));
  for (const Variable& variable : step.graph.variables()) {
    EXPECT_EQ(variable.type.element, ElementType::F32) << variable.name;
  }
  const auto bf16 =
      std::count_if(step.graph.nodes().begin(), step.graph.nodes().end(), [](const Node& node) {
        return node.op == Op::Convolution && node.outputs[0].element == ElementType::BF16;
      });
  EXPECT_EQ(bf16, 7);
}

TEST(Airbench94, EvaluatesSixViewsByOneSetOfVariables) {
  const Step step = airbench94().evaluation(recipe_of(ElementType::F32));
  std::set<std::string> names;
  for (const Variable& variable : step.graph.variables()) {
    EXPECT_TRUE(names.insert(variable.name).second) << variable.name;
  }
  const std::string text = to_text(step.graph);
  for (const char* view : {"columns=0, mirror=0, rows=0", "columns=0, mirror=1, rows=0",
                           "columns=-1, mirror=0, rows=-1", "columns=-1, mirror=1, rows=-1",
                           "columns=1, mirror=0, rows=1", "columns=1, mirror=1, rows=1"}) {
    EXPECT_NE(text.find(view), std::string::npos) << view;
  }
}

TEST(Airbench94, StartsItsFirstLayerFromTheData) {
  const DataSet data = make_shapes(20, Split::Train, 64);
  Recipe recipe = recipe_of(ElementType::F32);
  recipe.data_weights = data_weights_of(airbench94(), data);
  const Step step = airbench94().training(recipe);
  const auto whiten =
      std::find_if(step.graph.variables().begin(), step.graph.variables().end(),
                   [](const Variable& variable) { return variable.name == "whiten.weight"; });
  ASSERT_NE(whiten, step.graph.variables().end());
  EXPECT_EQ(whiten->initializer.kind, Initializer::Kind::Given);
  EXPECT_EQ(whiten->initializer.values.size(), 288U);
}

// Source: K. Jordan, airbench94.py: PyTorch's default; then as many filters as there are input
// channels pass their channel unchanged (dirac_).
TEST(Airbench94, StartsItsConvolutionsAsDirac) {
  const Graph graph = airbench94().training(recipe_of(ElementType::F32)).graph;
  std::set<std::string> seen;
  for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
    const Variable& variable = graph.variable(v);
    const bool convolution = variable.name.rfind("block", 0) == 0 && variable.type.rank() == 4;
    if (!convolution || variable.kind != VariableKind::Parameter) continue;
    seen.insert(variable.name);
    ASSERT_EQ(variable.type.dim(1), 3);
    ASSERT_EQ(variable.type.dim(2), 3);
    const std::int64_t inputs = variable.type.dim(3);
    const auto filter = static_cast<std::size_t>(9 * inputs);
    std::vector<float> weights(static_cast<std::size_t>(variable.type.elements()));
    initialize(graph, v, 7, weights.data());
    const auto dirac_filters = static_cast<std::size_t>(std::min(variable.type.dim(0), inputs));
    for (std::size_t o = 0; o < dirac_filters; ++o) {
      std::vector<float> expected(filter, 0.0F);
      expected[static_cast<std::size_t>(4 * inputs) + o] = 1;  // the fifth pixel of nine
      const auto begin = weights.begin() + static_cast<std::ptrdiff_t>(o * filter);
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), begin)) << variable.name << ' ' << o;
    }
    const std::vector<float> others(
        weights.begin() + static_cast<std::ptrdiff_t>(dirac_filters * filter), weights.end());
    if (others.empty()) continue;
    const double bound = 1 / std::sqrt(static_cast<double>(filter));
    const auto [least, most] = std::minmax_element(others.begin(), others.end());
    EXPECT_NEAR(*least, -bound, 0.01 * bound) << variable.name;  // uniform over thousands of values
    EXPECT_NEAR(*most, bound, 0.01 * bound) << variable.name;
  }
  EXPECT_EQ(seen, (std::set<std::string>{"block1.1.weight", "block1.2.weight", "block2.1.weight",
                                         "block2.2.weight", "block3.1.weight", "block3.2.weight"}));
}

TEST(Airbench94, AsksForWholeGroups) {
  Recipe recipe = recipe_of(ElementType::F32);
  recipe.global_batch = 1000;
  EXPECT_ANY_THROW(airbench94().training(recipe));
}

}  // namespace
}  // namespace regatta::workloads
