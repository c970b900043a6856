// SPDX-License-Identifier: Apache-2.0
//
// The graph itself: op table, inference, text, verify and its rules, gradient.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "kernels/distribute/traffic.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/expiry.h"
#include "kernels/graph/gradient.h"
#include "kernels/graph/text.h"
#include "kernels/graph/verify.h"

namespace regatta {
namespace {

VariableId add_variable(Graph& graph, const std::string& name, std::vector<std::int64_t> dims) {
  Variable variable;
  variable.name = name;
  variable.type.dims = std::move(dims);
  return graph.add(variable);
}

/// x [4, 2] → dense → [4, 3] → mean squared error; one trainable.
Step small_step() {
  Step step;
  Builder builder(step.graph);
  builder.layer("layer");
  const VariableId w = add_variable(step.graph, "w", {3, 2});
  const VariableId v = add_variable(step.graph, "w.velocity", {3, 2});
  const auto data = builder.input_features({.batch = 4, .offset = 0, .global_batch = 4}, 2, 3);
  const Value weights = builder.read(w);
  const Value loss = builder.mean_squared_error(builder.dense(data[0], weights), data[1], 4);
  const std::array wanted{weights};
  const Value gradient_of_w = gradient(step.graph, loss, wanted)[0];
  SgdOptions sgd;
  sgd.rate = Schedule::constant(0.1);
  const NodeId update = builder.sgd(gradient_of_w, w, v, sgd);
  step.trainables = {{.variable = w, .gradient = gradient_of_w, .updates = {update}}};
  step.losses = {loss};
  step.global_batch = 4;
  return step;
}

TEST(OpTable, IsInTheOrderOfTheEnumerationAndHasAnInferenceRuleForEach) {
  for (std::size_t i = 0; i < all_ops().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(all_ops()[i].op), i) << all_ops()[i].name;
    EXPECT_NE(all_ops()[i].infer, nullptr) << all_ops()[i].name;
  }
  EXPECT_EQ(all_ops().size(), static_cast<std::size_t>(Op::Lookahead) + 1);
}

TEST(Graph, InfersConvolutionSides) {
  Graph graph;
  Builder builder(graph);
  const auto data = builder.input_images({.batch = 2, .offset = 0, .global_batch = 2},
                                         {ElementType::U8, {7, 9, 3}}, Augmentation{});
  const Value w = builder.read(add_variable(graph, "w", {5, 3, 3, 3}));
  const Value y = builder.convolution(data[0], w, {.kernel = 3, .stride = 2, .padding = 1});
  EXPECT_EQ(to_string(graph.type(y)), "f32[2,4,5,5]");
}

TEST(Graph, ChangesWithoutItsCopies) {
  const Graph first = small_step().graph;
  Graph copy = first;
  copy.place(0).replica = 3;
  copy.mutable_variable(1).sharing = Sharing::Locked;
  add_variable(copy, "other", {1});
  EXPECT_EQ(first.node(0).place.replica, 0);
  EXPECT_EQ(copy.node(0).place.replica, 3);
  EXPECT_EQ(first.variable(1).sharing, Sharing::None);
  EXPECT_EQ(copy.variable(1).sharing, Sharing::Locked);
  EXPECT_EQ(copy.variable(0), first.variable(0));
  EXPECT_EQ(copy.variables().size(), first.variables().size() + 1);
}

TEST(Graph, KeepsTheInputsOfANodeWhenOneOfThemIsPlacedElsewhere) {
  Graph graph = small_step().graph;
  for (const NodeId moved : {0, 1, 2, 4}) {
    graph.place(moved).stage = 1;
    EXPECT_EQ(graph.node(2).inputs, (std::vector<Value>{{0, 0}, {1, 0}}));
    EXPECT_EQ(graph.node(5).inputs, (std::vector<Value>{{4, 0}, {0, 0}}));
  }
  Graph copy;
  copy.copy_variables_of(graph);
  for (const Node& node : graph.nodes()) copy.add(node);
  EXPECT_EQ(to_text(copy), to_text(graph));
}

TEST(Attributes, ShareTheirValuesUntilOneCopyChanges) {
  const Attributes first = {{"group", std::int64_t{3}}, {"rate", 0.5}};
  Attributes copy = first;
  copy.set("rate", 0.5);
  EXPECT_EQ(&copy.values(), &first.values());
  copy.set("rate", 0.25);
  EXPECT_EQ(copy.real("rate"), 0.25);
  EXPECT_EQ(first.real("rate"), 0.5);
}

TEST(Graph, InfersTheTypesOfANodeThatComesWithOthers) {
  Graph graph = small_step().graph;
  Node dense = graph.node(2);
  dense.outputs = {TensorType{ElementType::BF16, {1}}};
  EXPECT_EQ(to_string(graph.type({graph.add(dense), 0})), "f32[4,3]");
}

TEST(Text, ShowsVariablesNodesTypesAndPlaces) {
  EXPECT_EQ(to_text(small_step().graph),
            "variable w f32[3,2] parameter zeros @replica0\n"
            "variable w.velocity f32[3,2] parameter zeros @replica0\n"
            "%0 = input() {batch=4, element=0, example=[2], global_batch=4, offset=0, target=[3], "
            "target_element=0} f32[4,2] f32[4,3] @replica0 input layer\n"
            "%1 = read(w) f32[3,2] @replica0 forward layer\n"
            "%2 = dense(%0, %1) f32[4,3] @replica0 forward layer\n"
            "%3 = mean_squared_error(%2, %0.1) {divisor=4} f32[] @replica0 forward layer\n"
            "%4 = mean_squared_error_backward(%2, %0.1) {divisor=4} f32[4,3] @replica0 backward "
            "layer\n"
            "%5 = dense_backward_weights(%4, %0) f32[3,2] @replica0 backward layer\n"
            "%6 = sgd(%5; w, w.velocity) {momentum=0, nesterov=0, schedule_examples=[0], "
            "schedule_values=[0.1], weight=1, weight_decay=0} @replica0 update layer\n");
}

TEST(LearningRate, OfATrainableIsThatOfItsUpdate) {
  const Step step = small_step();
  const Schedule rate = learning_rate(step.graph, step.trainables.front());
  EXPECT_EQ(rate.examples, std::vector<double>{0});
  EXPECT_EQ(rate.values, std::vector<double>{0.1});
}

TEST(Text, HashChangesWithAnAttribute) {
  Step a = small_step();
  Step b = small_step();
  EXPECT_EQ(hash(a.graph), hash(b.graph));
  b.graph.place(2).stage = 1;
  EXPECT_NE(hash(a.graph), hash(b.graph));
}

TEST(Gradient, LeavesOutWhatIsNotNeeded) {
  // The input needs no gradient: there is no dense_backward_data.
  const Step step = small_step();
  for (const Node& node : step.graph.nodes()) EXPECT_NE(node.op, Op::DenseBackwardData);
}

TEST(Gradient, AddsUpTheUsesOfAValue) {
  Graph graph;
  Builder builder(graph);
  const auto data = builder.input_features({.batch = 2, .offset = 0, .global_batch = 2}, 3, 3);
  const Value w = builder.read(add_variable(graph, "w", {3, 3}));
  const Value once = builder.dense(data[0], w);
  const Value twice = builder.dense(once, w);
  const Value loss = builder.mean_squared_error(twice, data[1], 2);
  const std::array wanted{w};
  const Value dw = gradient(graph, loss, wanted)[0];
  EXPECT_EQ(graph.node(dw.node).op, Op::Add);
}

TEST(Verify, AcceptsAWholeStep) { EXPECT_EQ(broken_rule(small_step()), ""); }

TEST(Verify, NamesAVariableOfAnotherPlace) {
  Step step = small_step();
  step.graph.mutable_variable(0).place.replica = 1;
  EXPECT_EQ(broken_rule(step),
            "node %1 (read): it uses variable w of another place, which is not shared");
  step.graph.mutable_variable(0).sharing = Sharing::Relaxed;
  EXPECT_EQ(broken_rule(step), "");
}

TEST(Verify, NamesATrainableThatIsNeverAssigned) {
  Step step = small_step();
  step.trainables[0].updates.clear();
  EXPECT_EQ(broken_rule(step), "trainable w is never assigned");
}

TEST(Verify, NamesATypeThatDoesNotFollow) {
  Step step = small_step();
  step.graph.mutable_variable(0).type.dims = {5, 2};
  EXPECT_EQ(broken_rule(step), "node %1 (read): its output types are not what its inputs imply");
}

TEST(Verify, NamesACollectiveWithoutSuchAMember) {
  Step step = small_step();
  Builder builder(step.graph);
  builder.all_reduce(step.trainables[0].gradient,
                     {.group = 3, .member = 2, .members = 2, .algorithm = "ring"});
  EXPECT_EQ(broken_rule(step), "node %7 (all_reduce): it has the number of no member");
}

TEST(Verify, NamesAnIncompleteCollective) {
  Step step = small_step();
  Builder builder(step.graph);
  builder.all_reduce(step.trainables[0].gradient,
                     {.group = 3, .member = 0, .members = 2, .algorithm = "ring"});
  EXPECT_EQ(broken_rule(step), "collective 3: not all of its members are there");
}

TEST(VerifyDeathTest, AbortsWithTheRewriteAndTheRule) {
  Step step = small_step();
  step.trainables[0].updates.clear();
  EXPECT_DEATH(verify(step, "my_rewrite"), "after my_rewrite: trainable w is never assigned");
}

/// The step with another schedule of the update.
Step with_rate(const Step& step, const std::vector<double>& examples,
               const std::vector<double>& values) {
  Step result = step;
  result.graph = Graph();
  result.graph.copy_variables_of(step.graph);
  for (Node node : step.graph.nodes()) {
    if (node.op == Op::Sgd) {
      node.attributes.set("schedule_examples", examples);
      node.attributes.set("schedule_values", values);
    }
    result.graph.add(std::move(node));
  }
  return result;
}

TEST(Expiry, IsNotWhereAScheduleEnds) {
  const std::vector<std::int64_t> at = expiries(with_rate(small_step(), {0, 70}, {0.1, 0}));
  EXPECT_TRUE(std::all_of(at.begin(), at.end(), [](auto each) { return each == kNeverExpires; }));
}

// The update's rate ends at 70 examples; a loss and the nodes before it never expire.
TEST(Expiry, FollowsFromAnUpdateToTheBackwardNodesThatMakeItsGradientAlone) {
  const Step step = small_step();
  const std::vector<std::int64_t> never = expiries(step);
  EXPECT_TRUE(std::all_of(never.begin(), never.end(), [](auto at) { return at == kNeverExpires; }));
  const Step ends = with_rate(step, {0, 69.5, 200}, {0.1, 0, 0});
  const std::vector<std::int64_t> at = expiries(ends);
  for (std::size_t id = 0; id < at.size(); ++id) {
    const Node& node = ends.graph.nodes()[id];
    const bool needed = node.phase == Phase::Forward || node.phase == Phase::Input;
    EXPECT_EQ(at[id], needed ? kNeverExpires : 70) << to_string(node.op);
  }
}

TEST(Cost, CountsMultiplyAddsOfAConvolution) {
  Graph graph;
  Builder builder(graph);
  const auto data = builder.input_images({.batch = 2, .offset = 0, .global_batch = 2},
                                         {ElementType::U8, {8, 8, 3}}, Augmentation{});
  const Value w = builder.read(add_variable(graph, "w", {5, 3, 3, 3}));
  const Value y = builder.convolution(data[0], w, {.kernel = 3, .stride = 1, .padding = 1});
  EXPECT_EQ(multiply_adds(graph, y.node), 2 * 8 * 8 * 5 * 3 * 3 * 3);
}

TEST(Cost, WeighsBytesBesideMultiplyAdds) {
  Graph graph;
  Builder builder(graph);
  const Value x = builder.read(add_variable(graph, "x", {4, 6}));
  const Value w = builder.read(add_variable(graph, "w", {5, 6}));
  EXPECT_EQ(cost(graph, x.node), 0);  // a view
  const NodeId product = builder.dense(x, w).node;
  EXPECT_EQ(multiply_adds(graph, product), 4 * 5 * 6);
  const NodeId pass = builder.relu({product, 0}).node;
  EXPECT_EQ(multiply_adds(graph, pass), 0);
  const double byte = static_cast<double>(cost(graph, pass)) / (2 * 4 * 5 * 4);
  EXPECT_GT(byte, 0);
  EXPECT_EQ(cost(graph, product), 4 * 5 * 6 + byte * (4 * 6 + 5 * 6 + 4 * 5) * 4);
}

TEST(Cost, CountsAGroupsInputsOnlyInAllPasses) {
  Graph graph;
  Builder builder(graph);
  const Value x = builder.read(add_variable(graph, "x", {2, 8, 8, 6}));
  const Value w = builder.read(add_variable(graph, "w", {6, 3, 3, 2}));
  const Value y = builder.convolution(x, w, {.kernel = 3, .stride = 1, .padding = 1}, 3);
  const Value target = builder.read(add_variable(graph, "target", {2, 8 * 8 * 6}));
  const Value loss = builder.mean_squared_error(builder.reshape(y, {8 * 8 * 6}), target, 2);
  const std::array wanted{x, w};
  for (const Value slope : gradient(graph, loss, wanted)) {
    EXPECT_EQ(multiply_adds(graph, slope.node), 2 * 8 * 8 * 6 * 3 * 3 * 2);
  }
  EXPECT_EQ(multiply_adds(graph, y.node), 2 * 8 * 8 * 6 * 3 * 3 * 2);
}

TEST(GraphDeathTest, RefusesWeightsThatDoNotFitTheGroups) {
  Graph graph;
  Builder builder(graph);
  const Value x = builder.read(add_variable(graph, "x", {2, 8, 8, 6}));
  const Value w = builder.read(add_variable(graph, "w", {6, 3, 3, 2}));
  EXPECT_DEATH(builder.convolution(x, w, {.kernel = 3}, 2), "w \\[O, K, K, I / groups\\]");
}

}  // namespace
}  // namespace regatta
