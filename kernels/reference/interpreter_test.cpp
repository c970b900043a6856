// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/interpreter.h"

#include <gtest/gtest.h>

#include "kernels/distribute/loops.h"
#include "kernels/graph/listed_types.h"
#include "kernels/reference/test_support.h"
#include "kernels/runtime/initialize.h"

namespace regatta::reference {
namespace {

using test::add_variable;
using test::elements;
using Floats = std::vector<float>;

TEST(Interpreter, ReadsAndSlicesOfAPrivateVariableAreItsMemory) {
  Graph graph;
  Builder builder(graph);
  const VariableId table = add_variable(graph, "table", {3, 2});
  const Value rows = builder.slice(builder.read(table), 1, 2);
  const Value seen = builder.reshape(rows, {1, 2});
  Interpreter interpreter(graph, 0, {{"table", {1, 2, 3, 4, 5, 6}}});
  EXPECT_EQ(interpreter.value(seen), interpreter.variable(table) + 2);
  EXPECT_EQ(elements(interpreter, seen), (Floats{3, 4, 5, 6}));
}

TEST(Interpreter, ReadOfASharedVariableIsACopyThatKnowsItsVersion) {
  Graph graph;
  Builder builder(graph);
  const VariableId shared = add_variable(graph, "shared", {1}, Sharing::Relaxed);
  const Value copy = builder.read(shared);
  Interpreter interpreter(graph, 0, {{"shared", {7}}});
  EXPECT_EQ(elements(interpreter, copy), Floats{0});
  interpreter.run_all({});
  EXPECT_EQ(elements(interpreter, copy), Floats{7});
}

TEST(Interpreter, VariablesStartAsInitializeSaysUnlessGivenByName) {
  Graph graph;
  const TensorType type{ElementType::F32, {4}};
  const VariableId drawn =
      graph.add(Variable{.name = "drawn",
                         .type = type,
                         .initializer = Initializer{.kind = Initializer::Kind::Normal}});
  const VariableId given =
      graph.add(Variable{.name = "given",
                         .type = type,
                         .initializer = Initializer{.kind = Initializer::Kind::Normal}});
  Interpreter interpreter(graph, 42, {{"given", {1, 2, 3, 4}}});
  Floats expected(4);
  initialize(graph, drawn, 42, expected.data());
  EXPECT_EQ(Floats(interpreter.variable(drawn), interpreter.variable(drawn) + 4), expected);
  EXPECT_EQ(interpreter.variable(given)[3], 4);
}

/// Replica r computes y = twice the sum over replicas of v, and then v -= 0.1, which does not
/// depend on the sum but must not run before it. All of replica 0 precedes replica 1 in the graph.
struct TwoReplicas {
  Graph graph;
  std::vector<VariableId> variables;
  std::vector<NodeId> reductions;
  std::vector<Value> results;

  TwoReplicas() {
    for (int r = 0; r < 2; ++r) {
      Builder builder(graph);
      builder.at({.replica = r});
      const VariableId v = add_variable(graph, "v" + std::to_string(r), {2});
      const VariableId velocity = add_variable(graph, "velocity", {2});
      const Value gradient = test::leaf(builder, "gradient", {2});
      for (VariableId id : {v, velocity, graph.node(gradient.node).variables[0]}) {
        graph.mutable_variable(id).place = {.replica = r};
      }
      const Value sum = builder.all_reduce(
          builder.read(v), {.group = 3, .member = r, .members = 2, .algorithm = "ring"});
      results.push_back(builder.scale(sum, 2));
      builder.sgd(gradient, v, velocity, {.rate = Schedule::constant(0.1)});
      variables.push_back(v);
      reductions.push_back(sum.node);
    }
  }
  InitialValues initial() const { return {{"v0", {1, 2}}, {"v1", {10, 20}}, {"gradient", {1, 1}}}; }
};

TEST(Interpreter, AllReduceIsDoneWhenItsLastMemberHasRun) {
  TwoReplicas example;
  Interpreter interpreter(example.graph, 0, example.initial());
  interpreter.run_node(example.reductions[1], {});
  EXPECT_EQ(elements(interpreter, {example.reductions[1], 0}), (Floats{0, 0}));
  interpreter.run_node(example.reductions[0], {});
  EXPECT_EQ(elements(interpreter, {example.reductions[1], 0}), (Floats{11, 22}));
  EXPECT_EQ(elements(interpreter, {example.reductions[0], 0}), (Floats{11, 22}));
}

// Neither the value that needs the sum nor the update of a variable that the reduction has yet to
// read may run at its position in the graph.
TEST(Interpreter, NodesBehindAnUnfinishedCollectiveArePutOff) {
  TwoReplicas example;
  Interpreter interpreter(example.graph, 0, example.initial());
  interpreter.run_all({});
  for (std::size_t r = 0; r < 2; ++r) {
    EXPECT_EQ(elements(interpreter, example.results[r]), (Floats{22, 44}));
  }
  EXPECT_FLOAT_EQ(interpreter.variable(example.variables[0])[0], 1 - 0.1F);
  EXPECT_FLOAT_EQ(interpreter.variable(example.variables[1])[1], 20 - 0.1F);
}

/// Two members, five elements: member 0 gets the sums of the last two, member 1 of the first three.
TEST(Interpreter, ReduceScatterLeavesSharesAndAllGatherBringsThemTogether) {
  Graph graph;
  InitialValues initial;
  std::vector<Value> sums, all;
  for (int r = 0; r < 2; ++r) {
    Builder builder(graph);
    builder.at({.replica = r});
    const std::string name = "x" + std::to_string(r);
    const VariableId x = add_variable(graph, name, {5});
    initial[name] = r == 0 ? Floats{1, 2, 3, 4, 5} : Floats{10, 20, 30, 40, 50};
    Attributes attributes{{"group", std::int64_t{0}},
                          {"members", std::int64_t{2}},
                          {"algorithm", std::string("ring")}};
    sums.push_back(builder.node(Op::ReduceScatter, {builder.read(x)}, attributes, {}, r));
    attributes.set("group", std::int64_t{1});
    list_types(attributes, std::vector{graph.variable(x).type});
    all.push_back(builder.node(Op::AllGather, {sums.back()}, attributes, {}, r));
  }
  Interpreter interpreter(graph, 0, initial);
  interpreter.run_all({});
  EXPECT_EQ(elements(interpreter, sums[0]), (Floats{44, 55}));
  EXPECT_EQ(elements(interpreter, sums[1]), (Floats{11, 22, 33}));
  for (const Value value : all) {
    EXPECT_EQ(elements(interpreter, value), (Floats{11, 22, 33, 44, 55}));
  }
}

TEST(InterpreterDeathTest, AMemberThatComesTwiceBeforeTheOthersIsABug) {
  TwoReplicas example;
  Interpreter interpreter(example.graph, 0, example.initial());
  interpreter.run_node(example.reductions[0], {});
  EXPECT_DEATH(interpreter.run_node(example.reductions[0], {}), "waits for the others");
}

TEST(InterpreterDeathTest, AStepWithoutAllMembersOfItsCollectiveIsABug) {
  TwoReplicas example;
  Interpreter interpreter(example.graph, 0, example.initial());
  EXPECT_DEATH(interpreter.run(std::vector{example.reductions[0], example.results[0].node}, {}),
               "members of a collective are missing");
}

// Two loops of gradient descent on w² / 2 (gradient w) share w. If loop 1 reads before loop 0
// updates and updates after it, w = 1 - 0.1 * 1 - 0.1 * 1, one update missed. One after the other,
// they give w = 0.9 * 0.9.
TEST(Interpreter, InterleavingsOfAsynchronousLoopsDifferAsTheyShould) {
  Graph graph;
  const VariableId w = add_variable(graph, "w", {1}, Sharing::Relaxed);
  std::vector<std::vector<NodeId>> nodes;
  for (int r = 0; r < 2; ++r) {
    Builder builder(graph);
    builder.at({.replica = r});
    const VariableId velocity = add_variable(graph, "velocity" + std::to_string(r), {1});
    const Value gradient = builder.scale(builder.read(w), 1);
    const NodeId update = builder.sgd(gradient, w, velocity, {.rate = Schedule::constant(0.1)});
    nodes.push_back({gradient.node - 1, gradient.node, update});
  }
  ASSERT_NE(loops(graph)[0], loops(graph).back());

  Interpreter overlapping(graph, 0, {{"w", {1}}});
  for (std::size_t i = 0; i < 3; ++i) {
    for (int r = 0; r < 2; ++r) overlapping.run_node(nodes[static_cast<std::size_t>(r)][i], {});
  }
  EXPECT_FLOAT_EQ(*overlapping.variable(w), 0.8F);
  EXPECT_EQ(overlapping.counters().staleness[0], 1U);
  EXPECT_EQ(overlapping.counters().staleness[1], 1U);
  EXPECT_EQ(overlapping.storage(w).counts->version, 2U);

  Interpreter in_turn(graph, 0, {{"w", {1}}});
  for (const auto& loop : nodes) in_turn.run(loop, {});
  EXPECT_FLOAT_EQ(*in_turn.variable(w), 0.81F);
  EXPECT_EQ(in_turn.counters().staleness[0], 2U);
}

}  // namespace
}  // namespace regatta::reference
