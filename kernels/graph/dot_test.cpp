// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/dot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "kernels/graph/builder.h"
#include "kernels/graph/gradient.h"

namespace regatta {
namespace {

using testing::HasSubstr;
using testing::Not;

/// x [4, 2] → dense → [4, 3] → mean squared error; one trainable with a slot.
Graph small_graph() {
  Graph graph;
  Builder builder(graph);
  const TensorType type{.dims = {3, 2}};
  const VariableId w = graph.add({.name = "hidden.weight", .type = type, .place = {}});
  const VariableId v = graph.add(
      {.name = "hidden.weight.velocity", .type = type, .kind = VariableKind::Slot, .place = {}});
  builder.layer("input");
  const auto data = builder.input_features({.batch = 4, .offset = 0, .global_batch = 4}, 2, 3);
  builder.layer("hidden");
  const Value weights = builder.read(w);
  const Value y = builder.dense(data[0], weights);
  builder.layer("loss");
  const Value loss = builder.mean_squared_error(y, data[1], 4);
  const std::array wanted{weights};
  const Value gradient_of_w = gradient(graph, loss, wanted)[0];
  SgdOptions sgd;
  sgd.rate = Schedule::constant(0.1);
  builder.sgd(gradient_of_w, w, v, sgd);
  return graph;
}

NodeId find(const Graph& graph, Op op) {
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    if (graph.node(id).op == op) return id;
  }
  ADD_FAILURE() << "no such node";
  return 0;
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Dot, DrawsABoxForEachLayerAndPhaseAndACylinderForItsVariables) {
  const std::string dot = to_dot(small_graph());
  for (const char* label : {"\"input\"", "\"hidden\\ndense\"", "\"hidden backward\\ndense\"",
                            "\"hidden\\nweight\", fillcolor=\"#fff2cc\", shape=cylinder",
                            "\"loss\\nmean_squared_error\""}) {
    EXPECT_THAT(dot, HasSubstr(label));
  }
  EXPECT_THAT(dot, Not(HasSubstr("velocity")));
  EXPECT_EQ(count(dot, "subgraph"), 1);
  EXPECT_THAT(dot, Not(HasSubstr("penwidth")));  // nothing crosses
}

TEST(Dot, DrawsWhatCrossesPlacesBoldWithItsBytesAndOnce) {
  Graph graph = small_graph();
  for (const Op op : {Op::MeanSquaredError, Op::MeanSquaredErrorBackward}) {
    graph.place(find(graph, op)).stage = 1;
  }
  const std::string dot = to_dot(graph);
  EXPECT_EQ(count(dot, "subgraph"), 2);
  EXPECT_THAT(dot, HasSubstr("label=\"replica0.stage1\""));
  // y, the targets and the gradient of y, 48 bytes each; two boxes there use y and the targets.
  EXPECT_EQ(count(dot, "penwidth=2"), 3);
  EXPECT_EQ(count(dot, "label=\" 48 B\""), 3);
}

TEST(Dot, GathersWhatReplicasShareInMemory) {
  Graph graph = small_graph();
  graph.mutable_variable(0).sharing = Sharing::Relaxed;
  const std::string dot = to_dot(graph);
  EXPECT_THAT(dot, HasSubstr("label=\"shared memory\""));
  EXPECT_THAT(dot, Not(HasSubstr(" B\"")));  // sharing memory sends no message
  EXPECT_EQ(count(dot, "penwidth=2"), 2);    // read and update
}

TEST(Dot, DrawsAllPlacesOfAServerAsOne) {
  Graph graph = small_graph();
  graph.mutable_variable(0).place = {.replica = 0, .stage = 0, .role = Role::Server};
  graph.place(find(graph, Op::Read)) = {.replica = 1, .stage = 0, .role = Role::Server};
  graph.place(find(graph, Op::Sgd)) = {.replica = 1, .stage = 0, .role = Role::Server};
  const std::string dot = to_dot(graph);
  EXPECT_EQ(count(dot, "subgraph"), 2);
  EXPECT_THAT(dot, HasSubstr("label=\"server0\""));
  EXPECT_THAT(dot, HasSubstr("for replica1"));
  EXPECT_EQ(count(dot, "label=\" 24 B\""), 2);  // weights there, their gradient back
}

TEST(Dot, JoinsTheMembersOfACollective) {
  Graph graph = small_graph();
  Builder builder(graph);
  const Value gradient_of_w{graph.node(find(graph, Op::Sgd)).inputs[0]};
  for (const int member : {0, 1}) {
    builder.at({.replica = member, .stage = 0, .role = Role::Worker});
    builder.all_reduce(gradient_of_w,
                       {.group = 0, .member = member, .members = 2, .algorithm = "ring"});
  }
  const std::string dot = to_dot(graph);
  EXPECT_EQ(count(dot, "dir=both"), 1);
  EXPECT_EQ(count(dot, "all_reduce\\nring of 24 B"), 2);
}

}  // namespace
}  // namespace regatta
