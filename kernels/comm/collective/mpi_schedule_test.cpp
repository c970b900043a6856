// SPDX-License-Identifier: Apache-2.0
//
// Plays schedules without MPI or values: bytes, and no deadlock however few chunks may be in
// flight. mpi_transport_test.cpp and processes_of_training_test.cpp test the sums.
#include "kernels/comm/collective/mpi_schedule.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "kernels/graph/collective.h"

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

/// One member of a simulation.
struct Member {
  MessageSchedule schedule;
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
                                                           .part_of = test.part_of})});
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

 private:
  /// Sends unless a chunk already waits between the two members: the fewest in flight.
  bool send(std::int64_t m) {
    Member& member = members_[at(m)];
    if (member.sent == std::ssize(member.schedule.sends)) return false;
    const ScheduledSend& send = member.schedule.sends[at(member.sent)];
    auto& queue = wire_[{m, send.to}];
    if (send.after_receives > member.received || !queue.empty()) return false;
    queue.push_back(send.range.size());
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
    EXPECT_EQ(queue.front(), receive.range.size());
    queue.pop_front();
    member.traffic.received += receive.range.size() * 4;
    member.traffic.messages += receive.ends_message ? 1 : 0;
    ++member.received;
    return true;
  }

  std::vector<Member> members_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::deque<std::int64_t>> wire_;  ///< sizes
};

class MpiSchedule : public testing::TestWithParam<Case> {};

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

}  // namespace
}  // namespace regatta::comm
