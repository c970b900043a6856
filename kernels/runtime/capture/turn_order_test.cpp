// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/capture/turn_order.h"

#include <gtest/gtest.h>

namespace regatta {
namespace {

using Lanes = std::vector<std::vector<QueuedNode>>;

/// The nodes of each turn.
std::vector<std::vector<NodeId>> ordered(const Lanes& lanes) {
  std::vector<std::vector<NodeId>> nodes;
  for (const Turn& turn : order_turns(lanes)) {
    nodes.emplace_back();
    for (const Stand& stand : turn) nodes.back().push_back(lanes[stand.lane][stand.index].node);
  }
  return nodes;
}

using Nodes = std::vector<std::vector<NodeId>>;

TEST(TurnOrder, IsTheGraphsWhereNobodyMeets) {
  const Lanes lanes = {{{.node = 0}, {.node = 3, .waits = {{1, 1}}}, {.node = 5}},
                       {{.node = 1}, {.node = 2}, {.node = 4, .waits = {{0, 1}}}}};
  EXPECT_EQ(ordered(lanes), (Nodes{{0}, {1}, {2}, {3}, {4}, {5}}));
}

/// Node 2 needs the sum at the first member, and precedes the other members' sums in the graph.
TEST(TurnOrder, HasMembersMeetBeforeWhatFollowsAtOneOfThem) {
  const SharedLaunch sum{.members = 3};
  const Lanes lanes = {{{.node = 0}, {.node = 1, .shared_launch = &sum}, {.node = 2}},
                       {{.node = 3}, {.node = 4, .shared_launch = &sum}, {.node = 5}},
                       {{.node = 6}, {.node = 7, .shared_launch = &sum}, {.node = 8}}};
  EXPECT_EQ(ordered(lanes), (Nodes{{0}, {3}, {6}, {1, 4, 7}, {2}, {5}, {8}}));
}

TEST(TurnOrder, HasNobodyMeetBeforeAllHaveWhatTheyWaitFor) {
  const SharedLaunch sum{.members = 2};
  const Lanes lanes = {{{.node = 1, .waits = {{1, 0}}}},
                       {{.node = 0}},
                       {{.node = 2, .waits = {{3, 0}}, .shared_launch = &sum}},
                       {{.node = 4}},
                       {{.node = 3, .shared_launch = &sum}}};
  EXPECT_EQ(ordered(lanes), (Nodes{{0}, {1}, {4}, {2, 3}}));
}

TEST(TurnOrder, RefusesLanesThatComeToTheirMeetingsInDifferentOrders) {
  const SharedLaunch first{.members = 2}, second{.members = 2};
  const Lanes lanes = {
      {{.node = 0, .shared_launch = &first}, {.node = 1, .shared_launch = &second}},
      {{.node = 2, .shared_launch = &second}, {.node = 3, .shared_launch = &first}}};
  EXPECT_DEATH(order_turns(lanes), "lanes of a loop come to their meetings in one order");
}

TEST(TurnOrder, RefusesNodesThatWaitInACircle) {
  const Lanes lanes = {{{.node = 0, .waits = {{1, 0}}}}, {{.node = 1, .waits = {{0, 0}}}}};
  EXPECT_DEATH(order_turns(lanes), "wait in no circle");
}

TEST(TurnOrder, RefusesAMeetingThatSomebodyDoesNotComeTo) {
  const SharedLaunch sum{.members = 3};
  const Lanes lanes = {{{.node = 0, .shared_launch = &sum}}, {{.node = 1, .shared_launch = &sum}}};
  EXPECT_DEATH(order_turns(lanes), "meetings in one order");
}

}  // namespace
}  // namespace regatta
