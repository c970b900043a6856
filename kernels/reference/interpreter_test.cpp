// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/interpreter.h"

#include <gtest/gtest.h>

#include "kernels/distribute/loops.h"
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
  for (const auto& loop : nodes) {
    for (const NodeId id : loop) in_turn.run_node(id, {});
  }
  EXPECT_FLOAT_EQ(*in_turn.variable(w), 0.81F);
  EXPECT_EQ(in_turn.counters().staleness[0], 2U);
}

}  // namespace
}  // namespace regatta::reference
