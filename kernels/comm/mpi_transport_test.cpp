// SPDX-License-Identifier: Apache-2.0
//
// all_reduce between the ranks of a real mpirun: sums, bits, bytes, and what happens when a rank
// does not come. Every rank runs every test; what the sum must be each knows by itself.
#include "kernels/comm/mpi_transport.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include "kernels/comm/all_reduce.h"
#include "kernels/comm/mpi_session.h"
#include "kernels/graph/error.h"
#include "kernels/runtime/clock.h"

namespace regatta {
namespace {

MpiSession* session = nullptr;

constexpr std::int64_t kGroup = 3;
constexpr std::int64_t kChunkElements = 64;
constexpr std::int64_t kShortNs = 50'000'000;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// How many members each rank holds, and which.
enum class Dealing { OneEach, TwoEach, Uneven, Scattered };

std::vector<std::int64_t> processes(Dealing dealing) {
  std::vector<std::int64_t> all;
  for (std::int64_t rank = 0; rank < session->size(); ++rank) {
    std::int64_t members = 1;
    if (dealing == Dealing::TwoEach) members = 2;
    if (dealing == Dealing::Uneven) members = rank % 3 + 1;
    for (std::int64_t m = 0; m < members; ++m) all.push_back(rank);
  }
  if (dealing != Dealing::Scattered) return all;
  const std::vector<std::int64_t> once = all;
  all.insert(all.end(), once.begin(), once.end());  // each rank again, far from its first member
  return all;
}

float contribution(std::int64_t member, std::int64_t round, std::int64_t i) {
  return std::sin(static_cast<float>(member * 7919 + round * 104729 + i));
}

void fill(std::vector<float>& buffer, std::int64_t member, std::int64_t round) {
  for (std::int64_t i = 0; i < std::ssize(buffer); ++i) {
    buffer[at(i)] = contribution(member, round, i);
  }
}

/// One member of this rank: its node, its memory, its kernel.
class Member {
 public:
  Member(const KernelTable& table, Node node, std::int64_t elements, const AbortFlag* abort)
      : node_(std::move(node)), buffer_(at(elements)) {
    tensor_ = {.type = {ElementType::F32, {elements}}, .data = buffer_.data()};
    kernel_ = table.build({.node = node_,
                           .inputs = {&tensor_, 1},
                           .outputs = {&tensor_, 1},
                           .variables = {},
                           .versions_seen = {},
                           .abort = abort});
  }

  std::int64_t number() const { return node_.attributes.integer("member"); }
  const Place& place() const { return node_.place; }
  std::vector<float>& buffer() { return buffer_; }
  void run() { kernel_->run({.step = 0, .examples = 0, .counters = &counters_}); }
  const LaneCounters& counters() const { return counters_; }

 private:
  Node node_;
  std::vector<float> buffer_;
  Tensor tensor_;
  LaneCounters counters_;
  std::unique_ptr<Kernel> kernel_;
};

struct Case {
  std::string algorithm;
  std::vector<std::int64_t> processes;
  std::int64_t elements = 1;
};

Node node_of(const Case& test, std::int64_t member, std::int64_t group) {
  Node node{.op = Op::AllReduce,
            .attributes = {{"group", group},
                           {"member", member},
                           {"members", std::ssize(test.processes)},
                           {"algorithm", test.algorithm},
                           {"processes", test.processes}},
            .inputs = {},
            .variables = {},
            .outputs = {},
            .place = {},
            .phase = Phase::Communication,
            .layer = {}};
  node.place.replica = static_cast<int>(member);
  return node;
}

/// The members of one collective that live in this rank.
class Members {
 public:
  explicit Members(const Case& test, const MpiTransportOptions& options = small_chunks(),
                   const AbortFlag* abort = nullptr)
      : transport_(*session, options), table_("test") {
    transport_.add_kernels(table_);
    for (std::int64_t m = 0; m < std::ssize(test.processes); ++m) {
      if (test.processes[at(m)] != session->rank()) continue;
      all_.push_back(
          std::make_unique<Member>(table_, node_of(test, m, kGroup), test.elements, abort));
    }
    transport_.connect();
  }

  static MpiTransportOptions small_chunks() {
    return {.chunk_bytes = kChunkElements * 4, .receives_in_flight = 3, .sends_in_flight = 2};
  }

  using AfterRound = std::function<void(Member&, std::int64_t)>;

  /// Every member on a thread of its own, `rounds` times; returns after the last round. A member
  /// fills its buffer anew as soon as run() returned, whatever the others do.
  void run(
      std::int64_t rounds, const AfterRound& after_round = [](Member&, std::int64_t) {}) {
    std::vector<std::thread> threads;
    for (auto& member : all_) {
      threads.emplace_back([&] {
        for (std::int64_t round = 0; round < rounds; ++round) {
          fill(member->buffer(), member->number(), round);
          member->run();
          after_round(*member, round);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  const std::vector<std::unique_ptr<Member>>& all() const { return all_; }
  std::map<Place, MemberTraffic> traffic() const { return transport_.traffic(); }

 private:
  MpiTransport transport_;
  KernelTable table_;
  std::vector<std::unique_ptr<Member>> all_;
};

/// The same all-reduce between threads of one process.
std::vector<float> in_process(const Case& test, std::int64_t round) {
  AllReduceGroup group(test.algorithm, std::ssize(test.processes), kGroup);
  std::vector<std::vector<float>> buffers(test.processes.size(),
                                          std::vector<float>(at(test.elements)));
  for (std::int64_t m = 0; m < std::ssize(buffers); ++m) {
    fill(buffers[at(m)], m, round);
    group.join(m, buffers[at(m)].data(), test.elements);
  }
  std::vector<std::thread> threads;
  for (std::int64_t m = 0; m < std::ssize(buffers); ++m) {
    threads.emplace_back([&group, m] {
      WaitClock waits;
      group.run(m, Patience{},
                {.peer_waits = &waits, .received = [](std::int64_t, std::int64_t) {}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  return buffers[0];
}

/// Every dealing of members and sizes that divide by nothing, are smaller than the members, or
/// larger than a chunk.
void for_each_case(const std::string& algorithm, const std::function<void(const Case&)>& body) {
  for (Dealing dealing :
       {Dealing::OneEach, Dealing::TwoEach, Dealing::Uneven, Dealing::Scattered}) {
    for (std::int64_t elements : {1, 2, 7, 1009}) {
      const Case test{
          .algorithm = algorithm, .processes = processes(dealing), .elements = elements};
      SCOPED_TRACE(algorithm + ", " + std::to_string(test.processes.size()) + " members, " +
                   std::to_string(elements) + " elements");
      body(test);
    }
  }
}

class OverProcesses : public testing::TestWithParam<std::string> {};

TEST_P(OverProcesses, LeavesTheSumOverAllMembersAtEach) {
  constexpr std::int64_t kRounds = 5;
  for_each_case(GetParam(), [](const Case& test) {
    Members members(test);
    members.run(kRounds);
    const auto n = std::ssize(test.processes);
    for (const auto& member : members.all()) {
      for (std::int64_t i = 0; i < test.elements; ++i) {
        double sum = 0;
        for (std::int64_t m = 0; m < n; ++m) {
          sum += static_cast<double>(contribution(m, kRounds - 1, i));
        }
        EXPECT_NEAR(member->buffer()[at(i)], sum, static_cast<double>(n * n) * 6e-8);
      }
      EXPECT_EQ(member->buffer(), members.all()[0]->buffer());
    }
  });
}

TEST_P(OverProcesses, CountsTheBytesOfTheFormula) {
  constexpr std::int64_t kRounds = 3;
  for_each_case(GetParam(), [](const Case& test) {
    Members members(test);
    members.run(kRounds);
    const CollectiveShape shape{.algorithm = test.algorithm,
                                .members = std::ssize(test.processes),
                                .group = kGroup,
                                .elements = test.elements,
                                .element_bytes = 4,
                                .part_of = test.processes};
    const auto counted = members.traffic();
    EXPECT_EQ(counted.size(), members.all().size());
    for (const auto& member : members.all()) {
      const MemberTraffic formula = member_traffic(shape, member->number());
      const MemberTraffic& found = counted.at(member->place());
      EXPECT_EQ(found.sent, kRounds * formula.sent);
      EXPECT_EQ(found.received, kRounds * formula.received);
      EXPECT_EQ(found.messages, kRounds * formula.messages);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Algorithms, OverProcesses,
                         testing::Values("ring", "reduce_to_one", "hierarchical_copy", "mpi"),
                         [](const auto& test) { return test.param; });

TEST(MpiTransport, GivesTheBitsOfOneProcess) {
  constexpr std::int64_t kRounds = 3;
  for (const std::string_view algorithm : {kRing, kReduceToOne}) {
    for_each_case(std::string(algorithm), [](const Case& test) {
      Members members(test);
      members.run(kRounds);
      const std::vector<float> expected = in_process(test, kRounds - 1);
      for (const auto& member : members.all()) EXPECT_EQ(member->buffer(), expected);
    });
  }
}

/// In every round: a member that came out early would overwrite what others still read.
TEST(MpiTransport, ReducesMoreThanFitsIntoTheChunksInFlight) {
  constexpr std::int64_t kElements = 1'000'001;
  for (const std::string_view algorithm : {kRing, kReduceToOne, kHierarchicalCopy, kMpi}) {
    const Case test{.algorithm = std::string(algorithm),
                    .processes = processes(Dealing::TwoEach),
                    .elements = kElements};
    Members members(test, MpiTransportOptions{});
    members.run(4, [&](Member& member, std::int64_t round) {
      for (std::int64_t i = kElements - 1; i >= 0; i -= 49'999) {
        double sum = 0;
        for (std::int64_t m = 0; m < std::ssize(test.processes); ++m) {
          sum += static_cast<double>(contribution(m, round, i));
        }
        ASSERT_NEAR(member.buffer()[at(i)], sum, 1e-5) << algorithm << " element " << i;
      }
    });
  }
}

/// Two buckets, reduced in opposite order by two lanes of each rank at the same time.
TEST(MpiTransport, KeepsBucketsInFlightApart) {
  constexpr std::int64_t kElements = 5000;
  for (const std::string_view algorithm : {kRing, kReduceToOne, kHierarchicalCopy, kMpi}) {
    MpiTransport transport(*session, Members::small_chunks());
    KernelTable table("test");
    transport.add_kernels(table);
    const Case test{.algorithm = std::string(algorithm),
                    .processes = processes(Dealing::OneEach),
                    .elements = kElements};
    Member first(table, node_of(test, session->rank(), 7), kElements, nullptr);
    Member second(table, node_of(test, session->rank(), 8), kElements, nullptr);
    transport.connect();
    for (std::int64_t round = 0; round < 20; ++round) {
      fill(first.buffer(), session->rank(), round);
      fill(second.buffer(), session->rank() + 1000, round);
      std::thread other([&] { second.run(); });
      first.run();
      other.join();
      double sums[2] = {0, 0};
      for (std::int64_t m = 0; m < session->size(); ++m) {
        sums[0] += static_cast<double>(contribution(m, round, 4321));
        sums[1] += static_cast<double>(contribution(m + 1000, round, 4321));
      }
      ASSERT_NEAR(first.buffer()[4321], sums[0], 1e-5) << algorithm;
      ASSERT_NEAR(second.buffer()[4321], sums[1], 1e-5) << algorithm;
    }
  }
}

TEST(MpiTransport, LeavesNodesOfOneProcessToTheTableAsItWas) {
  MpiTransport transport(*session);
  KernelTable table("test");
  int built = 0;
  table.add(Op::AllReduce, [&built](const KernelRequest&) {
    ++built;
    return make_kernel([](const StepContext&) {});
  });
  transport.add_kernels(table);
  Node node{.op = Op::AllReduce,
            .attributes = {{"group", std::int64_t{0}}},
            .inputs = {},
            .variables = {},
            .outputs = {},
            .place = {},
            .phase = Phase::Communication,
            .layer = {}};
  table.build({.node = node, .inputs = {}, .outputs = {}, .variables = {}, .versions_seen = {}});
  EXPECT_EQ(built, 1);
}

/// The last rank's members do not come; the others name whom they wait for.
TEST(MpiTransport, NamesTheMemberThatDoesNotCome) {
  if (session->size() == 1) GTEST_SKIP() << "one rank waits for nobody";
  const std::int64_t last = session->size() - 1;
  for (const std::string_view algorithm : {kRing, kReduceToOne}) {
    const Case test{.algorithm = std::string(algorithm),
                    .processes = processes(Dealing::OneEach),
                    .elements = 100};
    MpiTransportOptions options = Members::small_chunks();
    options.limit_ns = kShortNs;
    Members members(test, options);
    if (session->rank() == 0) {
      try {
        members.all()[0]->run();
        ADD_FAILURE() << algorithm << ": a missing rank went unnoticed";
      } catch (const RunError& error) {
        EXPECT_EQ(error.kind(), ErrorKind::Timeout);
        // The ring's first neighbour and the first that reduce_to_one adds.
        const std::int64_t awaited = algorithm == kRing ? last : 1;
        EXPECT_EQ(error.what(), "all_reduce 3: member 0 in process 0 waited in vain for member " +
                                    std::to_string(awaited) + " in process " +
                                    std::to_string(awaited));
      }
    }
    session->barrier();
  }
}

TEST(MpiTransport, EndsAWaitWhenTheRunIsAborted) {
  if (session->size() == 1) GTEST_SKIP() << "one rank waits for nobody";
  for (const std::string_view algorithm : {kRing, kReduceToOne, kHierarchicalCopy}) {
    AbortFlag abort;
    const Case test{.algorithm = std::string(algorithm),
                    .processes = processes(Dealing::OneEach),
                    .elements = 100};
    Members members(test, Members::small_chunks(), &abort);
    if (session->rank() == 0) {
      std::thread lane([&] { EXPECT_THROW(members.all()[0]->run(), Aborted); });
      abort.raised = true;
      lane.join();
    }
    session->barrier();
  }
}

TEST(MpiTransport, CountsTheTimeUntilALateMemberCameAsWaiting) {
  if (session->size() == 1) GTEST_SKIP() << "one rank waits for nobody";
  constexpr std::int64_t kLateNs = 30'000'000;
  const Case test{
      .algorithm = "ring", .processes = processes(Dealing::OneEach), .elements = 100'000};
  Members members(test, MpiTransportOptions{});
  Member& own = *members.all()[0];
  own.run();
  session->barrier();
  const std::uint64_t before = own.counters().peer_waits.until(ticks());
  if (session->rank() == 0) std::this_thread::sleep_for(std::chrono::nanoseconds(kLateNs));
  own.run();
  const std::int64_t waited = ticks_to_ns(own.counters().peer_waits.until(ticks()) - before);
  if (session->rank() == 0) {
    EXPECT_LT(waited, kLateNs);
  } else {
    EXPECT_GT(waited, kLateNs / 2);
  }
  session->barrier();
}

TEST(MpiTransport, RefusesAMemberInAProcessThatMpiDidNotStart) {
  MpiTransport transport(*session);
  KernelTable table("test");
  transport.add_kernels(table);
  const std::int64_t beyond = session->size();
  const Case test{.algorithm = "ring", .processes = {session->rank(), beyond}, .elements = 10};
  try {
    Member member(table, node_of(test, 0, kGroup), 10, nullptr);
    ADD_FAILURE() << "a process too many went unnoticed";
  } catch (const RunError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Usage);
    EXPECT_EQ(error.what(), "all_reduce 3: a member lives in process " + std::to_string(beyond) +
                                ", but MPI started " + std::to_string(beyond));
  }
}

TEST(MpiSession, KnowsThatAllRanksOfThisTestShareAHost) {
  EXPECT_EQ(session->hosts(), std::vector<int>(at(session->size()), 0));
}

TEST(MpiSession, NamesItsLibrary) {
  EXPECT_NE(MpiSession::library_version().find("MPI"), std::string::npos);
}

}  // namespace
}  // namespace regatta

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  regatta::MpiSession session;
  regatta::session = &session;
  return RUN_ALL_TESTS();
}
