// SPDX-License-Identifier: Apache-2.0
//
// Every algorithm, with real threads: sums, bits, bytes, and the error when a member is missing.
#include "kernels/comm/collective/all_reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "kernels/base/error_for_test.h"
#include "kernels/comm/collective/all_reduce_members_for_test.h"
#include "kernels/graph/collective.h"

namespace regatta::comm {
namespace {

using namespace testing_support;

struct Case {
  std::string algorithm;
  std::int64_t members = 1;
  std::int64_t elements = 1;
  ElementType element = ElementType::F32;
};

/// A member's buffer and counts after the last round.
struct Outcome {
  std::vector<float> buffer;
  std::int64_t bytes_received = 0;
  std::int64_t messages = 0;
};

/// Fills a member's buffer before a round.
using Fill = std::function<void(std::int64_t member, std::int64_t round, std::vector<float>&)>;

void contribute(std::int64_t member, std::int64_t round, std::vector<float>& buffer) {
  for (std::int64_t i = 0; i < std::ssize(buffer); ++i) {
    buffer[static_cast<std::size_t>(i)] = contribution(member, round, i);
  }
}

/// Runs `rounds` of a collective on `members` threads.
std::vector<Outcome> run(const Case& test, std::int64_t rounds, const Fill& fill = contribute,
                         Op op = Op::AllReduce) {
  AllReduceGroup group({.op = op,
                        .algorithm = test.algorithm,
                        .members = test.members,
                        .group = 1,
                        .element = test.element});
  std::vector<Outcome> outcomes(static_cast<std::size_t>(test.members));
  std::vector<Exchanged> buffers(outcomes.size(), {test.element, test.elements});
  for (std::int64_t m = 0; m < test.members; ++m) {
    group.join(m, buffers[static_cast<std::size_t>(m)].memory(), test.elements);
  }
  std::vector<std::thread> threads;
  for (std::int64_t m = 0; m < test.members; ++m) {
    threads.emplace_back([&, m] {
      Outcome& outcome = outcomes[static_cast<std::size_t>(m)];
      WaitClock waits;
      const AllReduceGroup::Observer observer{.peer_waits = &waits,
                                              .received = [&](std::int64_t, std::int64_t bytes) {
                                                outcome.bytes_received += bytes;
                                                ++outcome.messages;
                                              }};
      Exchanged& buffer = buffers[static_cast<std::size_t>(m)];
      for (std::int64_t round = 0; round < rounds; ++round) {
        fill(m, round, buffer.values());
        buffer.open();
        group.run(m, Patience{}, observer);
        buffer.close();
      }
      outcome.buffer = buffer.values();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

class AllReduce : public testing::TestWithParam<Case> {};

TEST_P(AllReduce, LeavesTheSumOverAllMembersAtEachInTheSameBits) {
  constexpr std::int64_t kRounds = 20;
  const Case& test = GetParam();
  const auto outcomes = run(test, kRounds);
  for (std::int64_t i = 0; i < test.elements; ++i) {
    double sum = 0;
    for (std::int64_t m = 0; m < test.members; ++m) {
      sum += static_cast<double>(contribution(m, kRounds - 1, i));
    }
    EXPECT_NEAR(outcomes[0].buffer[static_cast<std::size_t>(i)], sum,
                bound_of_sum(test.element, test.members));
  }
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.buffer, outcomes[0].buffer);
  EXPECT_EQ(run(test, kRounds)[0].buffer, outcomes[0].buffer);
}

TEST_P(AllReduce, CountsTheBytesOfTheFormula) {
  constexpr std::int64_t kRounds = 3;
  const Case& test = GetParam();
  const auto outcomes = run(test, kRounds);
  const CollectiveShape shape{.algorithm = test.algorithm,
                              .members = test.members,
                              .group = 1,
                              .elements = test.elements,
                              .element_bytes = size_of(test.element)};
  for (std::int64_t m = 0; m < test.members; ++m) {
    const Outcome& outcome = outcomes[static_cast<std::size_t>(m)];
    EXPECT_EQ(outcome.bytes_received, kRounds * member_traffic(shape, m).received) << m;
    EXPECT_EQ(outcome.messages, kRounds * member_traffic(shape, m).messages) << m;
  }
}

/// The result of the messages played one after the other on a round's contributions.
std::vector<float> played(const CollectiveShape& shape, ElementType element, std::int64_t round) {
  std::vector<std::vector<float>> buffers(static_cast<std::size_t>(shape.members));
  for (std::int64_t m = 0; m < shape.members; ++m) {
    buffers[static_cast<std::size_t>(m)].resize(static_cast<std::size_t>(shape.elements));
    contribute(m, round, buffers[static_cast<std::size_t>(m)]);
    for (float& value : buffers[static_cast<std::size_t>(m)]) value = held(element, value);
  }
  for (const CollectiveMessage& message : messages_of(shape)) {
    const std::vector<float>& from = buffers[static_cast<std::size_t>(message.from)];
    std::vector<float>& to = buffers[static_cast<std::size_t>(message.to)];
    for (std::int64_t i = message.elements.begin; i < message.elements.end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      to[at] = message.taking == Taking::Add ? held(element, to[at] + from[at]) : from[at];
    }
  }
  return buffers[0];
}

TEST_P(AllReduce, AddsUpInTheOrderThatIsWrittenDown) {
  constexpr std::int64_t kRounds = 2;
  const Case& test = GetParam();
  const CollectiveShape shape{
      .algorithm = test.algorithm, .members = test.members, .group = 1, .elements = test.elements};
  if (is_by_messages(test.algorithm)) {
    EXPECT_EQ(run(test, kRounds)[0].buffer, played(shape, test.element, kRounds - 1));
    return;
  }
  std::vector<float> expected;
  for (const AdditionOrder& order : addition_orders(shape)) {
    ASSERT_EQ(order.elements.begin, std::ssize(expected));
    for (std::int64_t i = order.elements.begin; i < order.elements.end; ++i) {
      const auto sum = [&](const std::vector<std::int64_t>& members) {
        const auto of = [&](std::int64_t member) {
          return held(test.element, contribution(member, kRounds - 1, i));
        };
        float total = of(members[0]);
        for (std::size_t m = 1; m < members.size(); ++m) {
          total = held(test.element, total + of(members[m]));
        }
        return total;
      };
      const float first = sum(order.first);
      expected.push_back(order.second.empty() ? first
                                              : held(test.element, first + sum(order.second)));
    }
  }
  EXPECT_EQ(run(test, kRounds)[0].buffer, expected);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string_view algorithm : all_reduce_algorithms()) {
    for (std::int64_t members : {1, 2, 3, 4, 5, 8}) {
      for (std::int64_t elements : {1, 2, 7, 1000}) {
        all.push_back(
            {.algorithm = std::string(algorithm), .members = members, .elements = elements});
      }
    }
  }
  for (const std::string_view algorithm : {kDoubleTree, kTorus}) {  // several chunks
    all.push_back({.algorithm = std::string(algorithm), .members = 4, .elements = 35'003});
  }
  for (const std::int64_t columns : {1, 2, 3, 6}) {
    all.push_back({.algorithm = to_algorithm({.columns = columns, .rows = 6 / columns}),
                   .members = 6,
                   .elements = 1000});
  }
  for (const std::string_view algorithm : all_reduce_algorithms()) {
    for (std::int64_t members : {1, 2, 3, 4, 5}) {
      for (std::int64_t elements : {1, 7, 1001}) {
        all.push_back({.algorithm = std::string(algorithm),
                       .members = members,
                       .elements = elements,
                       .element = ElementType::BF16});
      }
    }
  }
  return all;
}

std::vector<Case> cases_of(const std::string& algorithm) {
  std::vector<Case> all = cases();
  std::erase_if(all, [&](const Case& test) { return test.algorithm != algorithm; });
  return all;
}

std::string name_of(const testing::TestParamInfo<Case>& test) {
  return test.param.algorithm + "_" + std::to_string(test.param.members) + "_members_" +
         std::to_string(test.param.elements) + "_elements_" +
         std::string(to_string(test.param.element));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, AllReduce, testing::ValuesIn(cases()), name_of);

/// Runs both halves in turn: all_gather needs only the share that reduce_scatter left at a member.
class Halves : public testing::TestWithParam<Case> {};

Range share_of(const Case& test, std::int64_t member) {
  return share(test.elements, test.members, share_at(member, test.members));
}

TEST_P(Halves, OfARingMakeTheBitsOfTheWhole) {
  constexpr std::int64_t kRounds = 10;
  const Case& test = GetParam();
  const auto whole = run(test, kRounds);
  const auto scattered = run(test, kRounds, contribute, Op::ReduceScatter);
  const Fill share_alone = [&](std::int64_t member, std::int64_t, std::vector<float>& buffer) {
    const Range own = share_of(test, member);
    std::fill(buffer.begin(), buffer.end(), -7.0F);
    std::copy_n(scattered[static_cast<std::size_t>(member)].buffer.begin() + own.begin, own.size(),
                buffer.begin() + own.begin);
  };
  const auto gathered = run(test, kRounds, share_alone, Op::AllGather);
  for (std::size_t m = 0; m < gathered.size(); ++m) {
    EXPECT_EQ(gathered[m].buffer, whole[m].buffer);
    EXPECT_EQ(scattered[m].bytes_received + gathered[m].bytes_received, whole[m].bytes_received);
  }
}

TEST_P(Halves, CountTheBytesOfTheFormula) {
  const Case& test = GetParam();
  for (const Op op : {Op::ReduceScatter, Op::AllGather}) {
    const CollectiveShape shape{.op = op,
                                .algorithm = test.algorithm,
                                .members = test.members,
                                .group = 1,
                                .elements = test.elements,
                                .element_bytes = size_of(test.element)};
    const auto outcomes = run(test, 1, contribute, op);
    for (std::int64_t m = 0; m < test.members; ++m) {
      const MemberTraffic formula = member_traffic(shape, m);
      EXPECT_EQ(outcomes[static_cast<std::size_t>(m)].bytes_received, formula.received);
      EXPECT_EQ(outcomes[static_cast<std::size_t>(m)].messages, formula.messages);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rings, Halves, testing::ValuesIn(cases_of("ring")), name_of);

TEST(AllReduceGroup, NamesTheMemberThatDoesNotCome) {
  for (const std::string_view algorithm : all_reduce_algorithms()) {
    AllReduceGroup group({.algorithm = std::string(algorithm), .members = 2, .group = 4});
    std::vector<float> buffer(8);
    group.join(0, buffer.data(), 8);
    group.join(1, buffer.data(), 8);
    WaitClock waits;
    const AllReduceGroup::Observer observer{.peer_waits = &waits,
                                            .received = [](std::int64_t, std::int64_t) {}};
    const Patience patience{.abort = nullptr, .spins = 0, .limit_ns = 20'000'000};
    const std::string error =
        error_of([&] { group.run(0, patience, observer); }, ErrorKind::Timeout);
    EXPECT_EQ(error, "all_reduce 4: member 0 waited in vain for member 1");
  }
}

TEST(AllReduceGroup, EndsWhenTheRunIsAborted) {
  AllReduceGroup group({.algorithm = "ring", .members = 2});
  std::vector<float> buffer(8);
  group.join(0, buffer.data(), 8);
  AbortFlag abort;
  WaitClock waits;
  const AllReduceGroup::Observer observer{.peer_waits = &waits,
                                          .received = [](std::int64_t, std::int64_t) {}};
  std::thread member(
      [&] { EXPECT_THROW(group.run(0, Patience{.abort = &abort}, observer), Aborted); });
  abort.raised = true;
  member.join();
}

}  // namespace
}  // namespace regatta::comm
