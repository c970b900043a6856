// SPDX-License-Identifier: Apache-2.0
//
// The steps of a period, and the rules for a graph with periods.
#include "kernels/graph/period.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/distribute/partition.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/verify.h"

namespace regatta {
namespace {

std::vector<std::int64_t> due_steps(const Period& period, std::int64_t steps) {
  std::vector<std::int64_t> due;
  for (std::int64_t step = 0; step < steps; ++step) {
    if (period.is_due(step)) due.push_back(step);
  }
  return due;
}

TEST(Period, HasEveryStepUnlessToldOtherwise) {
  EXPECT_EQ(due_steps({}, 4), (std::vector<std::int64_t>{0, 1, 2, 3}));
}

TEST(Period, HasTheLastOfEverySoManySteps) {
  EXPECT_EQ(due_steps({.every = 3}, 10), (std::vector<std::int64_t>{2, 5, 8}));
}

TEST(Period, HasAllStepsAtTheStart) {
  EXPECT_EQ(due_steps({.every = 3, .from = 2}, 9), (std::vector<std::int64_t>{0, 1, 4, 7}));
}

TEST(Period, HasAStepOfEverySoManyAheadOfTheLastOrBehindIt) {
  EXPECT_EQ(due_steps({.every = 3, .lag = -2}, 8), (std::vector<std::int64_t>{0, 3, 6}));
  EXPECT_EQ(due_steps({.every = 3, .lag = 1}, 8), (std::vector<std::int64_t>{3, 6}));
  EXPECT_EQ(due_steps({.every = 3, .from = 2, .lag = -1}, 8),
            (std::vector<std::int64_t>{0, 1, 3, 6}));
}

TEST(Period, CountsTheStepsThatItHas) {
  for (const Period& period :
       {Period{}, Period{.every = 3}, Period{.every = 4, .from = 5}, Period{.every = 1, .from = 3},
        Period{.every = 4, .lag = -3}, Period{.every = 4, .from = 3, .lag = 2}}) {
    for (std::int64_t steps = 0; steps < 20; ++steps) {
      EXPECT_EQ(period.due_in(steps), std::ssize(due_steps(period, steps))) << steps;
    }
  }
}

TEST(Period, OfADrawHasTheStepsInWhichTheReplicaDrawsThatPeer) {
  std::vector<std::int64_t> steps;
  for (std::int64_t peer = 0; peer < 3; ++peer) {
    const Period period{.draw = PeerDraw{.replica = 4, .peers = 3, .peer = peer}};
    const std::vector<std::int64_t> due = due_steps(period, 300);
    EXPECT_EQ(period.due_in(300), std::ssize(due));
    EXPECT_EQ(period.first_behind_start(), due.front());
    EXPECT_NEAR(static_cast<double>(due.size()), 100, 30);
    steps.insert(steps.end(), due.begin(), due.end());
    Node node;
    set_period(node.attributes, period);
    EXPECT_EQ(period_of(node), period);
  }
  std::sort(steps.begin(), steps.end());
  EXPECT_EQ(steps, due_steps({}, 300));  // each step draws one peer
}

/// The mean of two replicas' variable, made in the steps of `made`, by default every third, and
/// assigned in those of `assigned`.
Step averages(const Period& assigned, const Period& made = {.every = 3}) {
  Step step;
  Builder builder(step.graph);
  std::vector<VariableId> variables;
  std::vector<Value> means;
  for (int r = 0; r < 2; ++r) {
    const Place place{.replica = r};
    variables.push_back(step.graph.add(Variable{.name = "w",
                                                .type = {ElementType::F32, {6}},
                                                .kind = VariableKind::Parameter,
                                                .initializer = {},
                                                .place = place}));
    builder.at(place).in(Phase::Update).only(made);
    means.push_back(
        builder.all_reduce(builder.scale(builder.read(variables.back()), 0.5),
                           {.group = 0, .member = r, .members = 2, .algorithm = "ring"}));
  }
  for (int r = 0; r < 2; ++r) {
    builder.at({.replica = r}).only(assigned);
    builder.assign(means[static_cast<std::size_t>(r)], variables[static_cast<std::size_t>(r)]);
  }
  return step;
}

TEST(Period, IsThatOfTheNodesThatABuilderAppendsFromThenOn) {
  const Step step = averages({.every = 3});
  EXPECT_EQ(broken_rule(step), "");
  for (const Node& node : step.graph.nodes()) EXPECT_EQ(period_of(node), (Period{.every = 3}));
  EXPECT_FALSE(exchanges_are_alike(step.graph));
  EXPECT_EQ(steps_with_all_nodes(step.graph), 3);
}

TEST(Period, OfAReaderIsThatOfTheMaker) {
  const std::string rule = broken_rule(averages({.every = 2}));
  EXPECT_NE(rule.find("reads a value that is not made in all of its steps"), std::string::npos)
      << rule;
}

TEST(Period, OfLessThanAStepOrBeforeTheFirstIsBroken) {
  for (const Period& wrong : {Period{.every = 0}, Period{.every = 3, .lag = -3},
                              Period{.draw = PeerDraw{.peers = 2, .peer = 2}}}) {
    const std::string rule = broken_rule(averages(wrong));
    EXPECT_NE(rule.find(wrong.draw ? "a peer that is not drawn" : "period"), std::string::npos)
        << rule;
  }
}

TEST(Period, CountsBytesInTheStepsThatItHas) {
  const Graph graph = averages({.every = 3}).graph;
  const std::int64_t once = 2 * 6 * 4 / 2;  // a ring of two sends all of it
  const Place first{};
  EXPECT_EQ(traffic(graph, 3).at(first).sent, once);
  EXPECT_EQ(traffic(graph, 8).at(first).sent, 2 * once);
  EXPECT_EQ(traffic(graph, 8).at(first).received, 2 * once);
  EXPECT_EQ(traffic(graph, 2).at(first).messages, 0);
  EXPECT_DOUBLE_EQ(bytes_per_step(graph, 6), 2 * 2 * once / 6.0);
  EXPECT_EQ(most_sent_in_a_step(graph, 8).at(first), once);
  EXPECT_EQ(most_sent_in_a_step(graph, 2).at(first), 0);
}

/// A replica sends a variable to another replica, which reads it in some steps.
TEST(Period, OfAMessageIsThatOfItsReader) {
  Step step;
  Builder builder(step.graph);
  const VariableId own = step.graph.add(Variable{.name = "w",
                                                 .type = {ElementType::F32, {6}},
                                                 .kind = VariableKind::Parameter,
                                                 .initializer = {},
                                                 .place = {}});
  const Value half = builder.scale(builder.read(own), 0.5);
  for (const int r : {1, 2}) {
    builder.at({.replica = r}).only({.every = 4, .lag = -r}).scale(half, 2);
  }
  for (const int processes : {1, 3}) {
    const Binding each{.processes = processes, .process_of = [processes](const Place& place) {
                         return processes == 1 ? 0 : place.replica;
                       }};
    int crossing = 0;
    for (const Step& part : partition(step, each)) {
      for (const Node& node : part.graph.nodes()) {
        if (!op_info(node.op).crosses) continue;
        ++crossing;
        const Place reader = node.op == Op::Send ? receiver_of(node) : node.place;
        if (node.op == Op::Sent) continue;
        EXPECT_EQ(period_of(node), (Period{.every = 4, .lag = -reader.replica})) << processes;
      }
    }
    EXPECT_EQ(crossing, processes == 1 ? 2 : 6) << "a copy, or a send, its end and a receive";
  }
}

}  // namespace
}  // namespace regatta
