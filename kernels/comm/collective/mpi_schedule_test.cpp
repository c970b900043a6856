// SPDX-License-Identifier: Apache-2.0
//
// Runs schedules in memory, without MPI: sums, bits, bytes, and no deadlock however few chunks may
// be in flight.
#include "kernels/comm/collective/mpi_schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <map>
#include <thread>

#include "kernels/comm/collective/all_reduce.h"

namespace regatta::comm {
namespace {

struct Case {
  std::string algorithm;
  std::vector<std::int64_t> part_of;
  std::int64_t elements = 1;
  std::int64_t chunk_elements = 1;
  Op op = Op::AllReduce;

  std::int64_t members() const { return static_cast<std::int64_t>(part_of.size()); }
};

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

std::vector<float> contribution(std::int64_t member, std::int64_t elements) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < elements; ++i) {
    values.push_back(std::sin(static_cast<float>(member * 7919 + i)));
  }
  return values;
}

/// One member of a simulation; a chunk's values are copied when it is sent.
struct Member {
  MessageSchedule schedule;
  std::vector<float> buffer;
  std::int64_t sent = 0;
  std::int64_t received = 0;
  MemberTraffic traffic;

  bool done() const {
    return sent == std::ssize(schedule.sends) && received == std::ssize(schedule.receives);
  }
};

class Simulation {
 public:
  explicit Simulation(const Case& test) {
    for (std::int64_t m = 0; m < test.members(); ++m) {
      members_.push_back({.schedule = schedule_collective({.op = test.op,
                                                           .algorithm = test.algorithm,
                                                           .members = test.members(),
                                                           .member = m,
                                                           .group = 1,
                                                           .elements = test.elements,
                                                           .chunk_elements = test.chunk_elements,
                                                           .part_of = test.part_of}),
                          .buffer = contribution(m, test.elements)});
    }
  }

  /// False on a deadlock.
  bool run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::int64_t m = 0; m < std::ssize(members_); ++m) moved |= send(m) || receive(m);
    }
    return std::all_of(members_.begin(), members_.end(), [](const auto& m) { return m.done(); });
  }

  const Member& member(std::int64_t m) const { return members_[at(m)]; }
  std::vector<float>& buffer(std::int64_t m) { return members_[at(m)].buffer; }

 private:
  /// Sends unless a chunk already waits between the two members: the fewest in flight.
  bool send(std::int64_t m) {
    Member& member = members_[at(m)];
    if (member.sent == std::ssize(member.schedule.sends)) return false;
    const ScheduledSend& send = member.schedule.sends[at(member.sent)];
    auto& queue = wire_[{m, send.to}];
    if (send.after_receives > member.received || !queue.empty()) return false;
    queue.emplace_back(member.buffer.begin() + send.range.begin,
                       member.buffer.begin() + send.range.end);
    member.traffic.sent += send.range.size() * 4;
    ++member.sent;
    return true;
  }

  bool receive(std::int64_t m) {
    Member& member = members_[at(m)];
    if (member.received == std::ssize(member.schedule.receives)) return false;
    const ScheduledReceive& receive = member.schedule.receives[at(member.received)];
    auto& queue = wire_[{receive.from, m}];
    if (queue.empty() || receive.after_sends > member.sent) return false;
    EXPECT_EQ(std::ssize(queue.front()), receive.range.size());
    for (std::int64_t i = 0; i < receive.range.size(); ++i) {
      float& element = member.buffer[at(receive.range.begin + i)];
      const float part = queue.front()[at(i)];
      element = receive.taking == Taking::Add ? element + part : part;
    }
    queue.pop_front();
    member.traffic.received += receive.range.size() * 4;
    member.traffic.messages += receive.ends_message ? 1 : 0;
    ++member.received;
    return true;
  }

  std::vector<Member> members_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::deque<std::vector<float>>> wire_;
};

/// The result of the same algorithm inside one process.
std::vector<float> in_process(const Case& test) {
  AllReduceGroup group({.algorithm = test.algorithm, .members = test.members(), .group = 1});
  std::vector<std::vector<float>> buffers;
  for (std::int64_t m = 0; m < test.members(); ++m) {
    buffers.push_back(contribution(m, test.elements));
  }
  std::vector<std::thread> threads;
  for (std::int64_t m = 0; m < test.members(); ++m) {
    group.join(m, buffers[at(m)].data(), test.elements);
  }
  for (std::int64_t m = 0; m < test.members(); ++m) {
    threads.emplace_back([&, m] {
      WaitClock waits;
      const AllReduceGroup::Observer observer{.peer_waits = &waits,
                                              .received = [](std::int64_t, std::int64_t) {}};
      group.run(m, Patience{}, observer);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return buffers[0];
}

class MpiSchedule : public testing::TestWithParam<Case> {};
class MpiSums : public testing::TestWithParam<Case> {};
class MpiHalves : public testing::TestWithParam<Case> {};

TEST_P(MpiSums, LeavesTheSumOverAllMembersAtEachInTheSameBits) {
  const Case& test = GetParam();
  Simulation simulation(test);
  ASSERT_TRUE(simulation.run());
  const std::vector<float>& first = simulation.member(0).buffer;
  for (std::int64_t i = 0; i < test.elements; ++i) {
    double sum = 0;
    for (std::int64_t m = 0; m < test.members(); ++m) {
      sum += static_cast<double>(std::sin(static_cast<float>(m * 7919 + i)));
    }
    EXPECT_NEAR(first[at(i)], sum, static_cast<double>(test.members() * test.members()) * 6e-8);
  }
  for (std::int64_t m = 0; m < test.members(); ++m) {
    EXPECT_EQ(simulation.member(m).buffer, first) << m;
  }
  if (test.algorithm == kHierarchicalCopy) return;  // the parts differ: halves inside one process
  EXPECT_EQ(first, in_process(test));
}

TEST_P(MpiSchedule, MovesTheBytesAndMessagesOfTheFormula) {
  const Case& test = GetParam();
  Simulation simulation(test);
  ASSERT_TRUE(simulation.run());
  const CollectiveShape shape{.op = test.op,
                              .algorithm = test.algorithm,
                              .members = test.members(),
                              .group = 1,
                              .elements = test.elements,
                              .element_bytes = 4,
                              .part_of = test.part_of};
  for (std::int64_t m = 0; m < test.members(); ++m) {
    const MemberTraffic formula = member_traffic(shape, m);
    EXPECT_EQ(simulation.member(m).traffic.sent, formula.sent) << m;
    EXPECT_EQ(simulation.member(m).traffic.received, formula.received) << m;
    EXPECT_EQ(simulation.member(m).traffic.messages, formula.messages) << m;
  }
}

TEST_P(MpiHalves, MakeTheBitsOfTheWhole) {
  Case test = GetParam();
  Simulation whole(test);
  ASSERT_TRUE(whole.run());
  test.op = Op::ReduceScatter;
  Simulation scattered(test);
  ASSERT_TRUE(scattered.run());
  test.op = Op::AllGather;
  Simulation gathered(test);
  for (std::int64_t m = 0; m < test.members(); ++m) {
    const Range own = share(test.elements, test.members(), share_at(m, test.members()));
    std::vector<float>& buffer = gathered.buffer(m);
    std::fill(buffer.begin(), buffer.end(), -7.0F);
    std::copy_n(scattered.buffer(m).begin() + own.begin, own.size(), buffer.begin() + own.begin);
  }
  ASSERT_TRUE(gathered.run());
  for (std::int64_t m = 0; m < test.members(); ++m) {
    EXPECT_EQ(gathered.buffer(m), whole.buffer(m)) << m;
  }
}

/// MPI reads a buffer at its own time, so a chunk in flight must not be overwritten.
TEST_P(MpiSchedule, OverwritesNothingBeforeItHasLeft) {
  const Case& test = GetParam();
  for (std::int64_t m = 0; m < test.members(); ++m) {
    const MessageSchedule schedule = Simulation(test).member(m).schedule;
    for (std::int64_t r = 0; r < std::ssize(schedule.receives); ++r) {
      const ScheduledReceive& receive = schedule.receives[at(r)];
      for (std::int64_t s = receive.after_sends; s < std::ssize(schedule.sends); ++s) {
        const ScheduledSend& send = schedule.sends[at(s)];
        const bool overlaps =
            send.range.begin < receive.range.end && receive.range.begin < send.range.end;
        EXPECT_TRUE(!overlaps || send.after_receives > r) << "member " << m << " send " << s;
      }
    }
  }
}

std::vector<Case> cases() {
  const std::vector<std::vector<std::int64_t>> dealings = {
      {0},          {0, 1},          {0, 0},          {0, 1, 2},         {0, 0, 1},
      {0, 1, 0, 1}, {0, 0, 0, 1, 1}, {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4, 5}};
  std::vector<Case> all;
  for (const std::string_view algorithm : all_reduce_algorithms()) {
    for (const auto& part_of : dealings) {
      for (std::int64_t elements : {1, 7, 1000}) {
        for (std::int64_t chunk : {3, 64, 4096}) {
          all.push_back({.algorithm = std::string(algorithm),
                         .part_of = part_of,
                         .elements = elements,
                         .chunk_elements = chunk});
        }
      }
    }
  }
  for (const std::int64_t columns : {1, 2, 6}) {
    for (std::int64_t chunk : {3, 64}) {
      all.push_back({.algorithm = to_algorithm({.columns = columns, .rows = 6 / columns}),
                     .part_of = {0, 1, 2, 3, 4, 5},
                     .elements = 1000,
                     .chunk_elements = chunk});
    }
  }
  return all;
}

std::vector<Case> rings() {
  std::vector<Case> all = cases();
  std::erase_if(all, [](const Case& test) { return test.algorithm != kRing; });
  return all;
}

std::vector<Case> halves_too() {
  std::vector<Case> all = cases();
  for (Case test : rings()) {
    for (const Op op : {Op::ReduceScatter, Op::AllGather}) {
      test.op = op;
      all.push_back(test);
    }
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<Case>& test) {
  std::string dealing;
  for (std::int64_t part : test.param.part_of) dealing += std::to_string(part);
  const std::string op(to_string(test.param.op));
  return (test.param.op == Op::AllReduce ? test.param.algorithm : op) + "_parts_" + dealing + "_" +
         std::to_string(test.param.elements) + "_elements_by_" +
         std::to_string(test.param.chunk_elements);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, MpiSchedule, testing::ValuesIn(halves_too()), name_of);
INSTANTIATE_TEST_SUITE_P(Algorithms, MpiSums, testing::ValuesIn(cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Rings, MpiHalves, testing::ValuesIn(rings()), name_of);

}  // namespace
}  // namespace regatta::comm
