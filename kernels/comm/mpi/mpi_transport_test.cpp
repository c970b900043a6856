// SPDX-License-Identifier: Apache-2.0
//
// all_reduce between the ranks of a real mpirun: sums, bits and bytes. Every rank runs every test
// and computes the expected sum itself.
#include "kernels/comm/mpi/mpi_transport.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "kernels/comm/collective/all_reduce.h"
#include "kernels/comm/mpi/mpi_library.h"
#include "kernels/comm/mpi/mpi_members_for_test.h"

namespace regatta::comm {
namespace {

using namespace testing_support;

/// Runs `body` for every distribution of members and for sizes that no count divides, that are
/// smaller than the members or larger than a chunk; in f32 and in bf16.
void for_each_case(const std::string& algorithm, const std::function<void(const Case&)>& body) {
  for (Dealing dealing :
       {Dealing::OneEach, Dealing::TwoEach, Dealing::Uneven, Dealing::Scattered}) {
    for (std::int64_t elements : {1, 2, 7, 1009}) {
      for (const ElementType element : {ElementType::F32, ElementType::BF16}) {
        const Case test{.algorithm = algorithm,
                        .processes = processes(dealing),
                        .elements = elements,
                        .element = element};
        SCOPED_TRACE(algorithm + ", " + std::to_string(test.processes.size()) + " members, " +
                     to_string(test.bucket()));
        body(test);
      }
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
        EXPECT_NEAR(member->buffer()[at(i)], sum, bound_of_sum(test.element, n));
      }
      EXPECT_EQ(member->buffer(), members.all()[0]->buffer());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Algorithms, OverProcesses,
                         testing::Values("ring", "reduce_to_one", "hierarchical_copy",
                                         "double_tree", "torus", "mpi"),
                         [](const auto& test) { return test.param; });

/// Checks every round: a member that returned early would overwrite memory that others still read.
TEST(MpiTransport, ReducesMoreThanFitsIntoTheChunksInFlight) {
  constexpr std::int64_t kElements = 1'000'001;
  for (const std::string_view algorithm :
       {kRing, kReduceToOne, kHierarchicalCopy, kDoubleTree, kTorus, kMpi}) {
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

/// Two lanes of each rank reduce two buckets in opposite order at the same time.
TEST(MpiTransport, KeepsBucketsInFlightApart) {
  constexpr std::int64_t kElements = 5000;
  for (const std::string_view algorithm :
       {kRing, kReduceToOne, kHierarchicalCopy, kDoubleTree, kTorus, kMpi}) {
    MpiTransport transport(*session, Members::small_chunks());
    KernelTable table("test");
    transport.add_kernels(table);
    const Case test{.algorithm = std::string(algorithm),
                    .processes = processes(Dealing::OneEach),
                    .elements = kElements};
    Member first(table, node_of(test, session->rank(), 7), test.bucket(), nullptr);
    Member second(table, node_of(test, session->rank(), 8), test.bucket(), nullptr);
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

TEST(MpiTransport, TellsWhichRankCameLate) {
  constexpr std::int64_t kRounds = 5;
  const int last = session->size() - 1;
  for (const std::string_view algorithm : {kRing, kReduceToOne, kHierarchicalCopy, kMpi}) {
    MpiTransportOptions options = Members::small_chunks();
    options.clock = ProcessClock({.offset_ns = std::int64_t{1'000'000'000} * session->rank()});
    Members members({.algorithm = std::string(algorithm),
                     .processes = processes(Dealing::TwoEach),
                     .elements = 100},
                    options);
    members.run(kRounds, [&](Member&, std::int64_t) {
      if (session->rank() == last) std::this_thread::sleep_for(std::chrono::milliseconds(150));
    });
    members.settle_arrivals();
    for (const auto& [place, times] : members.exchange_times()) {
      EXPECT_EQ(times.late.count(), kRounds) << algorithm;
      EXPECT_EQ(times.wait.count(), kRounds) << algorithm;
      if (last == 0) continue;
      const std::int64_t typical = times.late.quantile(0.5);
      EXPECT_EQ(typical > 75'000'000, session->rank() == last) << algorithm << ' ' << typical;
    }
  }
}

/// Calls a function of Open MPI's tool interface, which only this test uses.
template <typename... Arguments>
void tool_call(const char* name, Arguments... arguments) {
  const auto call = reinterpret_cast<int (*)(Arguments...)>(dlsym(RTLD_DEFAULT, name));
  ASSERT_NE(call, nullptr) << name;
  EXPECT_EQ(call(arguments...), 0) << name;
}

/// The most that Open MPI sends over TCP without an answer of the receiver.
std::size_t eager_limit_bytes() {
  constexpr int kMultiple = 3;  // MPI_THREAD_MULTIPLE
  int threads = 0;
  int index = 0;
  int count = 0;
  std::size_t bytes = 0;
  void* handle = nullptr;
  tool_call("MPI_T_init_thread", kMultiple, &threads);
  tool_call("MPI_T_cvar_get_index", "btl_tcp_eager_limit", &index);
  tool_call("MPI_T_cvar_handle_alloc", index, static_cast<void*>(nullptr), &handle, &count);
  tool_call("MPI_T_cvar_read", handle, &bytes);
  tool_call("MPI_T_cvar_handle_free", &handle);
  tool_call("MPI_T_finalize");
  return bytes;
}

TEST(MpiTransport, SendsChunksBetweenHostsWithoutWaitingForAnAnswer) {
  if (mpi_library().kind != MpiKind::OpenMpi) GTEST_SKIP() << "a limit of Open MPI";
  constexpr std::size_t kHeaderBytes = 512;  // several times Open MPI's
  const auto chunk = static_cast<std::size_t>(MpiTransportOptions{}.chunk_bytes_between_hosts);
  EXPECT_LE(chunk + kHeaderBytes, eager_limit_bytes());
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

TEST(MpiSession, KnowsThatAllRanksOfThisTestShareAHost) {
  EXPECT_EQ(session->hosts(), std::vector<int>(at(session->size()), 0));
}

TEST(MpiSession, NamesItsLibrary) {
  EXPECT_NE(MpiSession::library_version().find("MPI"), std::string::npos);
}

}  // namespace
}  // namespace regatta::comm

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  regatta::comm::MpiSession session;
  regatta::testing_support::session = &session;
  return RUN_ALL_TESTS();
}
