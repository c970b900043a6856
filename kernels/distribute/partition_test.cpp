// SPDX-License-Identifier: Apache-2.0
//
// Partition, traffic, the arithmetic of collectives, buckets, loops.
#include "kernels/distribute/partition.h"

#include <gtest/gtest.h>

#include "kernels/distribute/loops.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/text.h"
#include "kernels/rewrite/bucket.h"

namespace regatta {
namespace {

/// An input at replica 0 that is used twice at replica 1 and once at replica 2.
Step star() {
  Step step;
  Builder builder(step.graph);
  const auto data = builder.input_features({.batch = 2, .offset = 0, .global_batch = 2}, 3, 1);
  builder.at({.replica = 1, .stage = 0, .role = Role::Worker});
  builder.add(builder.tanh(data[0]), data[0]);
  builder.at({.replica = 2, .stage = 0, .role = Role::Worker}).tanh(data[0]);
  step.global_batch = 2;
  return step;
}

TEST(Partition, CopiesAValueOnceToEachPlaceThatReadsIt) {
  const Step part = partition(star(), Binding{}).front();
  EXPECT_EQ(to_text(part.graph),
            "%0 = input() {batch=2, element=0, example=[3], global_batch=2, offset=0, target=[1], "
            "target_element=0} f32[2,3] "
            "f32[2,1] @replica0 input\n"
            "%1 = copy(%0) {from=[0,0,0,0]} f32[2,3] @replica1 communication\n"
            "%2 = tanh(%1) f32[2,3] @replica1 forward\n"
            "%3 = add(%2, %1) f32[2,3] @replica1 forward\n"
            "%4 = copy(%0) {from=[0,0,0,0]} f32[2,3] @replica2 communication\n"
            "%5 = tanh(%4) f32[2,3] @replica2 forward\n");
  const auto bytes = traffic(part.graph);
  EXPECT_EQ(bytes.at(Place{}).sent, 2 * 24);
  EXPECT_EQ(bytes.at(Place{.replica = 2, .stage = 0, .role = Role::Worker}).received, 24);
}

TEST(Partition, SendsAndReceivesBetweenProcesses) {
  const Binding binding{
      .processes = 2, .process_of = [](const Place& place) { return place.replica == 2 ? 1 : 0; }};
  const auto parts = partition(star(), binding);
  EXPECT_EQ(
      to_text(parts[1].graph),
      "%0 = receive() {dims=[2,3], elements=[0], from=[0,0,0,0], message=0, peer=0, ranks=[2]} "
      "f32[2,3] @replica2 communication\n"
      "%1 = tanh(%0) f32[2,3] @replica2 forward\n");
  EXPECT_NE(to_text(parts[0].graph).find("send(%0) {message=0, peer=1, to=[2,0,0,0]}"),
            std::string::npos);
}

TEST(Partition, GivesEachPartTheVariablesOfItsProcess) {
  Step whole;
  Builder builder(whole.graph);
  for (const int replica : {0, 1}) {
    const Place place{.replica = replica};
    const VariableId v = whole.graph.add(
        {.name = "w", .type = {ElementType::F32, {2}}, .initializer = {}, .place = place});
    builder.at(place).read(v);
  }
  const Binding binding{.processes = 2,
                        .process_of = [](const Place& place) { return place.replica; }};
  const std::vector<Step> parts = partition(whole, binding);
  EXPECT_EQ(parts[0].graph.variable(0), whole.graph.variable(0));
  EXPECT_EQ(parts[1].graph.variable(0), whole.graph.variable(1));
}

/// Inputs at replicas 1 and 2, added up at replica 0.
Step sum_of_two(double factor) {
  Step step;
  Builder builder(step.graph);
  std::vector<Value> terms;
  for (int replica : {1, 2}) {
    builder.at({.replica = replica, .stage = 0, .role = Role::Worker});
    terms.push_back(builder.input_features({.batch = 2, .offset = 0, .global_batch = 2}, 3, 1)[0]);
  }
  builder.at({.replica = 0, .stage = 0, .role = Role::Worker});
  builder.tanh(builder.sum(terms, factor));
  step.global_batch = 2;
  return step;
}

const Binding kProcessEach{.processes = 3,
                           .process_of = [](const Place& place) { return place.replica; }};

TEST(Partition, HasWhatArrivesAddedOntoWhatWasThereBefore) {
  EXPECT_EQ(
      to_text(partition(sum_of_two(1), kProcessEach)[0].graph),
      "%0 = receive() {dims=[2,3], elements=[0], from=[1,0,0,0], message=0, peer=1, ranks=[2]} "
      "f32[2,3] @replica0 communication\n"
      "%1 = receive(%0) {dims=[2,3], elements=[0], from=[2,0,0,0], message=1, peer=2, "
      "ranks=[2]} f32[2,3] @replica0 communication\n"
      "%2 = tanh(%1) f32[2,3] @replica0 forward\n");
}

/// A gradient at replica 0 and one at replica 1, added up at replica 0.
Step sum_at_home() {
  Step step;
  Builder builder(step.graph);
  std::vector<Value> terms;
  for (int replica : {0, 1}) {
    builder.at({.replica = replica, .stage = 0, .role = Role::Worker}).in(Phase::Input);
    const auto data = builder.input_features({.batch = 2, .offset = 0, .global_batch = 2}, 3, 1);
    terms.push_back(builder.in(Phase::Backward).tanh(data[0]));
  }
  builder.at({.replica = 0, .stage = 0, .role = Role::Worker}).in(Phase::Update);
  builder.tanh(builder.sum(terms, 1));
  step.global_batch = 2;
  return step;
}

TEST(Partition, HasWhatArrivesAddedOntoAGradientOfItsOwn) {
  const Binding binding{.processes = 2, .process_of = [](const Place& p) { return p.replica; }};
  EXPECT_NE(to_text(partition(sum_at_home(), binding)[0].graph)
                .find("%2 = receive(%1) {dims=[2,3], elements=[0], from=[1,0,0,0], message=0, "
                      "peer=1, ranks=[2]} f32[2,3] @replica0 communication\n"
                      "%3 = tanh(%2)"),
            std::string::npos);
}

/// The ops, with the numbers of the messages that they begin or end.
std::string ops_of(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes()) {
    std::string messages;
    if (node.op == Op::Send) messages = std::to_string(node.attributes.integer("message"));
    if (node.op == Op::Sent) {
      for (std::int64_t m : node.attributes.integers("messages")) {
        messages += (messages.empty() ? "" : ",") + std::to_string(m);
      }
    }
    text += (text.empty() ? "" : " ") + std::string(to_string(node.op)) +
            (messages.empty() ? "" : "(" + messages + ")");
  }
  return text;
}

/// The values of a send may be overwritten once it is over: at the latest before a variable that it
/// reads is assigned, otherwise when the step ends.
TEST(Partition, EndsWhatItSends) {
  Step step;
  Variable variable;
  variable.name = "w";
  variable.type.dims = {3};
  const VariableId w = step.graph.add(variable);
  const VariableId velocity = step.graph.add(variable);
  Builder builder(step.graph);
  const Value read = builder.read(w);
  const Value other = builder.tanh(read);
  builder.at({.replica = 1}).tanh(read);
  builder.at({.replica = 2}).tanh(read);
  builder.at({.replica = 1}).tanh(other);
  builder.at({.replica = 0});
  builder.sgd(other, w, velocity, {.rate = {.examples = {0}, .values = {1}}});
  builder.tanh(other);
  step.global_batch = 2;
  EXPECT_EQ(ops_of(partition(step, kProcessEach)[0].graph),
            "read send(0) send(1) tanh send(2) sent(0,1) sgd tanh sent(2)");
}

/// Sums with a factor, with a term that has another reader, with a term that does not travel.
TEST(Partition, LeavesOtherSumsAsTheyAre) {
  const auto has_sum = [](const Step& step, const Binding& binding) {
    return to_text(partition(step, binding)[0].graph).find("= sum(") != std::string::npos;
  };
  EXPECT_FALSE(has_sum(sum_of_two(1), kProcessEach));
  EXPECT_TRUE(has_sum(sum_of_two(0.5), kProcessEach));
  Step read_twice = sum_of_two(1);
  Builder(read_twice.graph).tanh({1, 0});
  EXPECT_TRUE(has_sum(read_twice, kProcessEach));
  const Binding two_processes{
      .processes = 2, .process_of = [](const Place& place) { return place.replica == 2 ? 1 : 0; }};
  EXPECT_TRUE(has_sum(sum_of_two(1), two_processes));
}

TEST(Share, DealsEverythingWithSizesThatDifferByAtMostOne) {
  for (std::int64_t parts : {1, 2, 3, 5, 7}) {
    std::int64_t end = 0;
    for (std::int64_t i = 0; i < parts; ++i) {
      const Range range = share(23, parts, i);
      EXPECT_EQ(range.begin, end);
      EXPECT_LE(range.size(), share(23, parts, 0).size());
      EXPECT_GE(range.size() + 1, share(23, parts, 0).size());
      end = range.end;
    }
    EXPECT_EQ(end, 23);
  }
}

TEST(MemberTraffic, OfARingIsTheTextbookFormula) {
  for (std::int64_t n : {2, 3, 5, 8}) {
    const CollectiveShape shape{
        .algorithm = kRing, .members = n, .group = 0, .elements = 120 * n, .element_bytes = 4};
    const std::int64_t m = shape.elements * 4;
    for (std::int64_t member = 0; member < n; ++member) {
      EXPECT_EQ(member_traffic(shape, member).sent, 2 * (n - 1) * m / n);
      EXPECT_EQ(member_traffic(shape, member).received, 2 * (n - 1) * m / n);
      EXPECT_EQ(member_traffic(shape, member).messages, 2 * (n - 1));
    }
  }
}

TEST(MemberTraffic, AddsUpOverMembersForUnevenShares) {
  for (const std::string_view algorithm : all_reduce_algorithms()) {
    for (std::int64_t n : {1, 2, 3, 4, 5}) {
      const CollectiveShape shape{
          .algorithm = algorithm, .members = n, .group = 1, .elements = 17, .element_bytes = 4};
      std::int64_t sent = 0;
      std::int64_t received = 0;
      for (std::int64_t member = 0; member < n; ++member) {
        sent += member_traffic(shape, member).sent;
        received += member_traffic(shape, member).received;
      }
      EXPECT_EQ(sent, 2 * (n - 1) * 17 * 4) << algorithm << n;
      EXPECT_EQ(received, sent) << algorithm << n;
    }
  }
}

TEST(Halves, LeaveNoMemberOutAndRotateTheirRoots) {
  EXPECT_EQ(halves(5, 0).first_size, 3);
  EXPECT_EQ(halves(5, 0).second_root, 3);
  EXPECT_EQ(halves(5, 1).first_root, 1);
  EXPECT_EQ(halves(5, 1).second_root, 4);
  EXPECT_EQ(halves(1, 0).second_root, -1);
}

/// Two replicas with `count` gradients of 10 floats each, exchanged one by one.
Step exchanges(std::int64_t count) {
  Step step;
  Builder builder(step.graph);
  for (std::int64_t group = 0; group < count; ++group) {
    for (int replica = 0; replica < 2; ++replica) {
      builder.at({.replica = replica, .stage = 0, .role = Role::Worker});
      const auto data =
          builder.input_features({.batch = 10, .offset = 0, .global_batch = 10}, 1, 1);
      builder.all_reduce(data[0],
                         {.group = group, .member = replica, .members = 2, .algorithm = "ring"});
    }
  }
  return step;
}

std::vector<std::size_t> bucket_sizes(const Step& step) {
  std::vector<std::size_t> sizes;
  for (const Node& node : step.graph.nodes()) {
    if (node.op == Op::AllReduce && node.place.replica == 0) sizes.push_back(node.inputs.size());
  }
  return sizes;
}

TEST(Bucket, FillsBucketsUpToTheirSize) {
  EXPECT_EQ(bucket_sizes(bucket(exchanges(5), 0)), (std::vector<std::size_t>{1, 1, 1, 1, 1}));
  EXPECT_EQ(bucket_sizes(bucket(exchanges(5), 80)), (std::vector<std::size_t>{2, 2, 1}));
  EXPECT_EQ(bucket_sizes(bucket(exchanges(5), 1 << 20)), (std::vector<std::size_t>{5}));
}

TEST(Bucket, KeepsApartWhatStandsAtDifferentStages) {
  Step step = exchanges(2);
  for (NodeId id = 4; id < 8; ++id) step.graph.place(id).stage = 1;
  EXPECT_EQ(bucket_sizes(bucket(step, 1 << 20)), (std::vector<std::size_t>{1, 1}));
}

TEST(Bucket, KeepsApartWhatHasOtherElements) {
  Step step;
  Builder builder(step.graph);
  for (std::int64_t group = 0; group < 4; ++group) {
    for (int replica = 0; replica < 2; ++replica) {
      builder.at({.replica = replica});
      const auto data =
          builder.input_features({.batch = 10, .offset = 0, .global_batch = 10}, 1, 1);
      const ElementType element = group == 1 ? ElementType::BF16 : ElementType::F32;
      builder.all_reduce(builder.cast(data[0], element),
                         {.group = group, .member = replica, .members = 2, .algorithm = "ring"});
    }
  }
  EXPECT_EQ(bucket_sizes(bucket(step, 1 << 20)), (std::vector<std::size_t>{1, 3}));
}

TEST(Bucket, DoesNotChangeWhatTravels) {
  const double before = bytes_per_step(exchanges(5).graph, 1);
  EXPECT_EQ(bytes_per_step(bucket(exchanges(5), 80).graph, 1), before);
}

TEST(Loops, AreConnectedByCollectivesAndSplitBySharedVariables) {
  const std::vector<int> together = loops(exchanges(1).graph);
  EXPECT_EQ(together, (std::vector<int>{0, 0, 0, 0}));

  Graph graph;
  Variable shared;
  shared.name = "w";
  shared.type.dims = {3};
  shared.sharing = Sharing::Relaxed;
  const VariableId w = graph.add(shared);
  Builder builder(graph);
  builder.read(w);
  builder.at({.replica = 1, .stage = 0, .role = Role::Worker}).read(w);
  EXPECT_EQ(loops(graph), (std::vector<int>{0, 1}));
  builder.read(w);  // at the same place as the read before
  EXPECT_EQ(loops(graph), (std::vector<int>{0, 1, 1}));
}

TEST(Models, AreTrainedTogetherByLoopsThatShareAVariable) {
  Graph graph;
  Variable variable;
  variable.type.dims = {3};
  Builder builder(graph);
  variable.name = "alone";
  builder.at({.replica = 2}).read(graph.add(variable));
  variable.name = "shared";
  variable.sharing = Sharing::Relaxed;
  const VariableId shared = graph.add(variable);
  builder.at({.replica = 0}).read(shared);
  builder.at({.replica = 1}).read(shared);
  EXPECT_EQ(loops(graph), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(models(graph), (std::vector<int>{0, 1, 1}));
}

}  // namespace
}  // namespace regatta
