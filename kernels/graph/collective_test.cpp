// SPDX-License-Identifier: Apache-2.0
//
// Collectives that span processes: the root of each process, and the traffic. partition_test.cpp
// covers collectives within one process.
#include "kernels/graph/collective.h"

#include <gtest/gtest.h>

#include "kernels/distribute/traffic.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/collective_messages.h"
#include "kernels/graph/listed_types.h"
#include "kernels/graph/verify.h"

namespace regatta {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST(Parts, HoldTheMembersOfAProcessAndRotateTheirRoots) {
  const Numbers part_of = {4, 1, 4, 4, 1};
  const std::vector<Part> first = parts(part_of, 0);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].members, (Numbers{0, 2, 3}));
  EXPECT_EQ(first[1].members, (Numbers{1, 4}));
  EXPECT_EQ(first[0].root, 0);
  EXPECT_EQ(first[1].root, 1);
  const std::vector<Part> later = parts(part_of, 5);
  EXPECT_EQ(later[0].root, 3);
  EXPECT_EQ(later[1].root, 4);
}

CollectiveShape shape_of(std::string_view algorithm, std::int64_t members, std::int64_t elements) {
  return {.algorithm = algorithm, .members = members, .group = 4, .elements = elements};
}

TEST(AdditionOrders, OfARingBeginEachShareWithTheMemberOfItsNumber) {
  const std::vector<AdditionOrder> orders = addition_orders(shape_of(kRing, 3, 7));
  ASSERT_EQ(orders.size(), 3U);
  const Numbers begins = {0, 3, 5}, ends = {3, 5, 7};
  const Numbers members[] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}};
  for (std::size_t i = 0; i < orders.size(); ++i) {
    EXPECT_EQ(orders[i].elements.begin, begins[i]);
    EXPECT_EQ(orders[i].elements.end, ends[i]);
    EXPECT_EQ(orders[i].first, members[i]);
    EXPECT_EQ(orders[i].second, Numbers{});
  }
  EXPECT_EQ(addition_orders(shape_of(kRing, 3, 2)).size(), 2U);  // the third share is empty
}

TEST(AdditionOrders, OfTheOthersAreOneForAllElements) {
  const auto to_one = addition_orders(shape_of(kReduceToOne, 3, 7));
  ASSERT_EQ(to_one.size(), 1U);
  EXPECT_EQ(to_one[0].elements.end, 7);
  EXPECT_EQ(to_one[0].first, (Numbers{0, 1, 2}));
  EXPECT_EQ(to_one[0].second, Numbers{});
  const auto halves = addition_orders(shape_of(kHierarchicalCopy, 5, 7));  // group 4: roots 1, 3
  ASSERT_EQ(halves.size(), 1U);
  EXPECT_EQ(halves[0].first, (Numbers{1, 0, 2}));
  EXPECT_EQ(halves[0].second, (Numbers{3, 4}));
  const auto alone = addition_orders(shape_of(kHierarchicalCopy, 1, 7));
  EXPECT_EQ(alone.at(0).first, Numbers{0});
  EXPECT_EQ(alone.at(0).second, Numbers{});
}

TEST(MemberTraffic, OverProcessesIsARingOfRootsAndOneBufferEachWayForTheOthers) {
  const Numbers part_of = {0, 0, 0, 1, 1, 2};
  for (const std::string_view algorithm : {kHierarchicalCopy, kMpi}) {
    const CollectiveShape shape{.algorithm = algorithm,
                                .members = 6,
                                .group = 0,
                                .elements = 300,
                                .element_bytes = 4,
                                .part_of = part_of};
    const std::int64_t all = 1200;
    const std::int64_t ring = 2 * 2 * all / 3;
    EXPECT_EQ(member_traffic(shape, 0).sent, ring + 2 * all);
    EXPECT_EQ(member_traffic(shape, 0).messages, 4 + 2);
    EXPECT_EQ(member_traffic(shape, 1).sent, all);
    EXPECT_EQ(member_traffic(shape, 1).messages, 1);
    EXPECT_EQ(member_traffic(shape, 3).received, ring + all);
    EXPECT_EQ(member_traffic(shape, 5).received, ring);
    std::int64_t sent = 0;
    for (std::int64_t member = 0; member < 6; ++member) {
      sent += member_traffic(shape, member).sent;
    }
    EXPECT_EQ(sent, 2 * 5 * all) << algorithm;
  }
}

TEST(MemberTraffic, OfMembersInOneProcessHasNoRing) {
  const Numbers part_of = {7, 7};
  const CollectiveShape shape{.algorithm = kMpi,
                              .members = 2,
                              .group = 1,
                              .elements = 10,
                              .element_bytes = 4,
                              .part_of = part_of};
  EXPECT_EQ(member_traffic(shape, 0).sent, 40);
  EXPECT_EQ(member_traffic(shape, 1).sent, 40);
}

TEST(MemberTraffic, OfNcclIsCountedAsThatOfARing) {
  CollectiveShape ring{
      .algorithm = kRing, .members = 3, .group = 0, .elements = 10, .element_bytes = 4};
  CollectiveShape nccl = ring;
  nccl.algorithm = kNccl;
  for (std::int64_t member = 0; member < 3; ++member) {
    EXPECT_GT(member_traffic(nccl, member).sent, 0);
    EXPECT_EQ(member_traffic(nccl, member).sent, member_traffic(ring, member).sent);
    EXPECT_EQ(member_traffic(nccl, member).received, member_traffic(ring, member).received);
    EXPECT_EQ(member_traffic(nccl, member).messages, member_traffic(ring, member).messages);
  }
}

std::string text_of(const std::vector<Piece>& all) {
  std::string text;
  for (const Piece& piece : all) {
    text += std::to_string(piece.tensor) + '[' + std::to_string(piece.elements.begin) + ':' +
            std::to_string(piece.elements.end) + "] ";
  }
  return text;
}

TEST(Pieces, OfAMemberAreTheShareThatARingCompletesThere) {
  const std::vector<TensorType> bucket = {
      {ElementType::F32, {2, 3}}, {ElementType::F32, {1}}, {ElementType::F32, {4}}};
  EXPECT_EQ(text_of(pieces(bucket, 3, 2)), "0[0:4] ");  // elements 0 to 4, 4 to 8, 8 to 11
  EXPECT_EQ(text_of(pieces(bucket, 3, 0)), "0[4:6] 1[0:1] 2[0:1] ");
  EXPECT_EQ(text_of(pieces(bucket, 3, 1)), "2[1:4] ");
  EXPECT_EQ(text_of(pieces(bucket, 1, 0)), "0[0:6] 1[0:1] 2[0:4] ");
  EXPECT_EQ(text_of(pieces({bucket.data() + 1, 1}, 3, 1)), "");  // fewer elements than members
  const std::vector<Piece> own = pieces(bucket, 3, 0);
  EXPECT_EQ(type_of(own[0], bucket), (TensorType{ElementType::F32, {2}}));
  EXPECT_EQ(type_of(pieces(bucket, 1, 0)[0], bucket), bucket[0]);
}

std::string text_of(const std::vector<CollectiveMessage>& all) {
  std::string text;
  std::int64_t step = -1;
  for (const CollectiveMessage& message : all) {
    if (message.step != step) {
      text += (text.empty() ? "" : "\n") + std::to_string(message.step) + ":";
    }
    step = message.step;
    text += ' ' + std::to_string(message.from) + '>' + std::to_string(message.to) +
            (message.taking == Taking::Add ? '+' : '=') + '[' +
            std::to_string(message.elements.begin) + ':' + std::to_string(message.elements.end) +
            ']';
  }
  return text;
}

/// The trees of 4 members: 0 above 2 above 1 and 3; mirrored 3 above 1 above 2 and 0.
TEST(Messages, OfDoubleTreeAreThoseOfTwoTreesAtOnce) {
  EXPECT_EQ(text_of(messages_of(shape_of(kDoubleTree, 4, 7))),
            "0: 1>2+[0:4] 3>2+[0:4] 2>1+[4:7] 0>1+[4:7]\n"
            "1: 2>0+[0:4] 1>3+[4:7]\n"
            "2: 0>2=[0:4] 3>1=[4:7]\n"
            "3: 2>1=[0:4] 2>3=[0:4] 1>2=[4:7] 1>0=[4:7]");
  EXPECT_EQ(text_of(messages_of(shape_of(kDoubleTree, 3, 1))),
            "0: 1>2+[0:1]\n1: 2>0+[0:1]\n2: 0>2=[0:1]\n3: 2>1=[0:1]");
}

TEST(Messages, OfATorusAreRowsThenColumnsThenRows) {
  EXPECT_EQ(text_of(messages_of(shape_of(kTorus, 4, 7))),
            "0: 0>1+[0:4] 1>0+[4:7] 2>3+[0:4] 3>2+[4:7]\n"
            "1: 0>2+[4:6] 2>0+[6:7] 1>3+[0:2] 3>1+[2:4]\n"
            "2: 0>2=[6:7] 2>0=[4:6] 1>3=[2:4] 3>1=[0:2]\n"
            "3: 0>1=[4:7] 1>0=[0:4] 2>3=[4:7] 3>2=[0:4]");
  EXPECT_EQ(nearest_to_square(12).columns, 4);
  EXPECT_EQ(nearest_to_square(5).rows, 1);
}

/// 6 members in 2 columns, so three rows of two.
TEST(Messages, OfATorusHaveTheColumnsThatAreGiven) {
  EXPECT_EQ(torus_shape(shape_of(kTorus, 6, 6)).columns, 3);
  const CollectiveShape shape = shape_of("torus_2x3", 6, 6);
  EXPECT_EQ(torus_shape(shape).columns, 2);
  EXPECT_EQ(torus_shape(shape).rows, 3);
  EXPECT_EQ(text_of(messages_of(shape)),
            "0: 0>1+[0:3] 1>0+[3:6] 2>3+[0:3] 3>2+[3:6] 4>5+[0:3] 5>4+[3:6]\n"
            "1: 0>2+[3:4] 2>4+[4:5] 4>0+[5:6] 1>3+[0:1] 3>5+[1:2] 5>1+[2:3]\n"
            "2: 0>2+[5:6] 2>4+[3:4] 4>0+[4:5] 1>3+[2:3] 3>5+[0:1] 5>1+[1:2]\n"
            "3: 0>2=[4:5] 2>4=[5:6] 4>0=[3:4] 1>3=[1:2] 3>5=[2:3] 5>1=[0:1]\n"
            "4: 0>2=[3:4] 2>4=[4:5] 4>0=[5:6] 1>3=[0:1] 3>5=[1:2] 5>1=[2:3]\n"
            "5: 0>1=[3:6] 1>0=[0:3] 2>3=[3:6] 3>2=[0:3] 4>5=[3:6] 5>4=[0:3]");
}

/// A member sends 2 (n - 1) / n of its buffer for any number of columns; the messages differ.
TEST(MemberTraffic, OfATorusHasTheMessagesOfItsColumns) {
  for (const std::int64_t columns : {1, 2, 3, 4, 6, 12}) {
    const std::string algorithm = to_algorithm({.columns = columns, .rows = 12 / columns});
    const CollectiveShape shape = shape_of(algorithm, 12, 1200);
    for (std::int64_t member = 0; member < 12; ++member) {
      const MemberTraffic found = member_traffic(shape, member);
      EXPECT_EQ(found.sent, 2 * 11 * 100 * 4) << columns;
      EXPECT_EQ(found.received, 2 * 11 * 100 * 4) << columns;
      EXPECT_EQ(found.messages, 2 * (columns - 1) + 2 * (12 / columns - 1));
    }
  }
}

/// Otherwise the contents of a message would depend on which member is faster.
TEST(Messages, SendNothingInAStepThatTheSenderTakesInIt) {
  for (const std::string_view algorithm : {kDoubleTree, kTorus}) {
    for (std::int64_t n = 1; n <= 17; ++n) {
      const auto messages = messages_of(shape_of(algorithm, n, 100));
      for (const CollectiveMessage& sent : messages) {
        for (const CollectiveMessage& taken : messages) {
          const bool at_once = sent.step == taken.step && sent.from == taken.to;
          EXPECT_FALSE(at_once && sent.elements.begin < taken.elements.end &&
                       taken.elements.begin < sent.elements.end)
              << algorithm << n << " step " << sent.step << " member " << sent.from;
        }
      }
    }
  }
}

TEST(MemberTraffic, OfTheHalvesOfARingIsThatOfTheWhole) {
  for (const std::int64_t members : {1, 2, 3, 5}) {
    for (std::int64_t member = 0; member < members; ++member) {
      CollectiveShape shape = shape_of(kRing, members, 1009);
      const MemberTraffic whole = member_traffic(shape, member);
      shape.op = Op::ReduceScatter;
      MemberTraffic halves = member_traffic(shape, member);
      EXPECT_EQ(halves.messages, members - 1);
      shape.op = Op::AllGather;
      halves += member_traffic(shape, member);
      EXPECT_EQ(halves.sent, whole.sent);
      EXPECT_EQ(halves.received, whole.received);
      EXPECT_EQ(halves.messages, whole.messages);
    }
  }
}

Attributes half_of(std::int64_t group) {
  return {{"group", group}, {"members", std::int64_t{2}}, {"algorithm", std::string(kRing)}};
}

/// Two members that sum 7 elements and gather the sums.
Step scattered_and_gathered() {
  Step step;
  for (int member = 0; member < 2; ++member) {
    Builder builder(step.graph);
    builder.at({.replica = member});
    const auto data = builder.input_features({.batch = 7, .offset = 0, .global_batch = 7}, 1, 1);
    const Value sums =
        builder.node(Op::ReduceScatter, {builder.tanh(data[0])}, half_of(0), {}, member);
    Attributes attributes = half_of(1);
    list_types(attributes, std::vector{step.graph.type(data[0])});
    builder.node(Op::AllGather, {sums}, attributes, {}, member);
  }
  return step;
}

TEST(Halves, HaveTypesOfTheirSharesAndTheTrafficOfARing) {
  const Step step = scattered_and_gathered();
  EXPECT_EQ(broken_rule(step), "");
  EXPECT_EQ(to_string(step.graph.type({2, 0})), "f32[3]");
  EXPECT_EQ(to_string(step.graph.type({3, 0})), "f32[7,1]");
  EXPECT_EQ(to_string(step.graph.type({6, 0})), "f32[4]");
  const auto all = traffic(step.graph);
  EXPECT_EQ(all.at({.replica = 0}).sent, 4 * (4 + 3));
  EXPECT_EQ(all.at({.replica = 0}).received, 4 * (3 + 4));
  EXPECT_EQ(all.at({.replica = 1}).messages, 2);
}

TEST(Halves, AreOfRingsWhoseMembersAgree) {
  const auto rule_of = [](NodeId id, std::string_view name, const Attributes::Value& value) {
    const Step step = scattered_and_gathered();
    Step broken;
    for (NodeId each = 0; each < static_cast<NodeId>(step.graph.nodes().size()); ++each) {
      Node node = step.graph.node(each);
      if (each == id) node.attributes.set(name, value);
      broken.graph.add(node);
    }
    return broken_rule(broken);
  };
  EXPECT_EQ(rule_of(7, "group", std::int64_t{0}), "collective 0: a member is there twice");
  EXPECT_EQ(rule_of(6, "group", std::int64_t{2}), "collective 0: not all of its members are there");
  const std::string disagree =
      "collective 0: its members disagree in op, size, algorithm, steps or types";
  EXPECT_EQ(rule_of(6, "algorithm", std::string("mpi")), disagree);
}

TEST(Traffic, OfAnAllReduceKnowsItsProcesses) {
  Graph graph;
  Builder builder(graph);
  for (int member = 0; member < 3; ++member) {
    builder.at({.replica = member});
    const auto data = builder.input_features({.batch = 10, .offset = 0, .global_batch = 10}, 10, 1);
    builder.node(Op::AllReduce, {data[0]},
                 {{"group", std::int64_t{0}},
                  {"members", std::int64_t{3}},
                  {"algorithm", std::string(kMpi)},
                  {"processes", Numbers{0, 0, 1}}},
                 {}, member);
  }
  const auto all = traffic(graph);
  EXPECT_EQ(all.at({.replica = 0}).sent, 400 + 400);
  EXPECT_EQ(all.at({.replica = 1}).sent, 400);
  EXPECT_EQ(all.at({.replica = 2}).sent, 400);
}

}  // namespace
}  // namespace regatta
