// SPDX-License-Identifier: Apache-2.0
//
// The steps of a node by its period, by the examples seen, and as the run's last.
#include "kernels/graph/node_steps.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/graph/builder.h"

namespace regatta {
namespace {

/// Whether the node is due in the steps of a loop that begin with these numbers of examples seen.
std::vector<bool> due(const NodeSteps& steps, const std::vector<std::int64_t>& seen) {
  std::vector<bool> all;
  std::int64_t before = 0;
  for (std::size_t step = 0; step < seen.size(); ++step) {
    all.push_back(steps.is_due(
        {.step = static_cast<std::int64_t>(step), .examples = seen[step], .before = before}));
    before = seen[step];
  }
  return all;
}

TEST(NodeSteps, IsEveryStepUnlessTheNodeSaysOtherwise) {
  EXPECT_TRUE(NodeSteps{}.is_every_step());
  EXPECT_EQ(due({}, {0, 10, 20}), (std::vector<bool>{true, true, true}));
}

TEST(NodeSteps, EndsWhenSoManyExamplesHaveBeenSeen) {
  EXPECT_EQ(due({.until = 20}, {0, 10, 20, 30}), (std::vector<bool>{true, true, false, false}));
  EXPECT_FALSE(NodeSteps{.until = 20}.is_every_step());
}

TEST(NodeSteps, OfLookaheadIsItsPeriodAndTheLastStepOfTheRun) {
  const NodeSteps steps{.period = {.every = 3}, .run_examples = 50, .global_batch = 10};
  EXPECT_EQ(due(steps, {0, 10, 20, 30, 40}), (std::vector<bool>{false, false, true, false, true}));
  // Under a quorum a step may apply more examples than a global batch.
  EXPECT_TRUE(steps.is_due({.step = 3, .examples = 30, .before = 20, .batch = 20}));
}

TEST(NodeSteps, IsOfStepsOfTheGlobalBatchWhereLoopsStepApart) {
  const NodeSteps steps{
      .period = {.every = 2}, .run_examples = 110, .global_batch = 10, .loops_step_apart = true};
  EXPECT_EQ(due(steps, {0, 10, 19, 20, 35, 41, 45, 90, 95, 100}),
            (std::vector<bool>{false, false, false, true, false, true, false, true, false, true}));
}

TEST(NodeSteps, IsWhatTheNodeSays) {
  Graph graph;
  const VariableId w = graph.add(Variable{.name = "w", .type = {ElementType::F32, {6}}});
  Builder(graph).lookahead(
      w, w,
      {.period = 5, .global_batch = 32, .total_examples = 640, .decay = Schedule::constant(0.5)});
  Node node = graph.node(0);
  NodeSteps expected{.period = {.every = 5}, .run_examples = 640, .global_batch = 32};
  EXPECT_EQ(node_steps(node), expected);
  set_loops_step_apart(node.attributes);
  set_until(node.attributes, 96);
  expected.loops_step_apart = true;
  expected.until = 96;
  EXPECT_EQ(node_steps(node), expected);
}

}  // namespace
}  // namespace regatta
