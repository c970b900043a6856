// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/stored.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace regatta {
namespace {

void expect_equal(const Node& a, const Node& b) {
  EXPECT_EQ(a.op, b.op);
  EXPECT_EQ(a.attributes, b.attributes);
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.variables, b.variables);
  EXPECT_EQ(a.outputs, b.outputs);
  EXPECT_EQ(a.place, b.place);
  EXPECT_EQ(a.member, b.member);
  EXPECT_EQ(a.phase, b.phase);
  EXPECT_EQ(a.layer, b.layer);
}

/// Nodes 0 to 9 of replica 0, 10 to 19 of replica 1 and 20 at a server.
std::vector<StoredNode> earlier_nodes() {
  std::vector<StoredNode> nodes;
  for (int i = 0; i < 20; ++i) nodes.push_back(store({.place = {.replica = i / 10}}, {}));
  nodes.push_back(store({.place = {.role = Role::Server}}, {}));
  return nodes;
}

/// A node of a replica, with inputs from that replica and from the server.
Node node_at(int replica) {
  const NodeId first = 10 * replica;
  return {.op = Op::AllReduce,
          .attributes = {{"group", std::int64_t{3}}, {"rates", std::vector<double>{0.5, 1}}},
          .inputs = {{first + 7, 1}, {first + 2, 0}, {20, 2}},
          .variables = {first + 4, first + 3},
          .outputs = {TensorType{ElementType::F32, {2, 3}}},
          .place = {.replica = replica, .stage = 1},
          .member = replica,
          .phase = Phase::Communication,
          .layer = "a layer with a long name"};
}

TEST(StoredNode, IsReadAsItWas) {
  const std::vector<StoredNode> earlier = earlier_nodes();
  for (const int replica : {0, 1}) {
    expect_equal(node_of(store(node_at(replica), earlier)), node_at(replica));
  }
  const Node plain{.op = Op::Input, .outputs = {TensorType{}}, .place = {}};
  expect_equal(node_of(store(plain, earlier)), plain);
}

TEST(StoredNode, OfAlikeReplicasIsHeldOnce) {
  const std::vector<StoredNode> earlier = earlier_nodes();
  const StoredNode first = store(node_at(0), earlier);
  EXPECT_EQ(store(node_at(1), earlier).body, first.body);
  const auto expect_other = [&](auto change) {
    Node node = node_at(1);
    change(node);
    EXPECT_NE(store(node, earlier).body, first.body);
  };
  expect_other([](Node& node) { node.op = Op::ReduceScatter; });
  expect_other([](Node& node) { node.attributes.set("group", std::int64_t{4}); });
  expect_other([](Node& node) { node.inputs[1].node += 1; });
  expect_other([](Node& node) { node.inputs[1].output += 1; });
  expect_other([](Node& node) { node.inputs[2].output += 1; });
  expect_other([](Node& node) { node.variables[1] += 1; });
  expect_other([](Node& node) { node.outputs = {TensorType{ElementType::F32, {3, 2}}}; });
  expect_other([](Node& node) { node.phase = Phase::Update; });
  expect_other([](Node& node) { node.layer = "another"; });
}

TEST(StoredNode, KeepsTheSignOfAZero) {
  for (const double zero : {0.0, -0.0}) {
    const Node node{.attributes = {{"rate", zero}}, .place = {}};
    EXPECT_EQ(std::signbit(node_of(store(node, {})).attributes.real("rate")), std::signbit(zero));
  }
}

TEST(StoredVariable, OfAlikeReplicasIsHeldOnceAndReadAsItWas) {
  const auto variable_at = [](int replica) {
    return Variable{.name = "w",
                    .type = {ElementType::F32, {4}},
                    .kind = VariableKind::Slot,
                    .initializer = Initializer{.values = {1, 2, 3, 4}},
                    .place = {.replica = replica},
                    .part_of = PartOf{.name = "whole", .type = {}, .row = 2}};
  };
  const StoredVariable first = store(variable_at(0));
  const StoredVariable second = store(variable_at(1));
  EXPECT_EQ(first.body, second.body);
  EXPECT_EQ(variable_of(second), variable_at(1));
  EXPECT_NE(variable_of(second), variable_at(0));
  Variable other = variable_at(0);
  other.initializer = Initializer{.values = {1, 2, 3, 5}};
  EXPECT_NE(store(other).body, first.body);
}

}  // namespace
}  // namespace regatta
