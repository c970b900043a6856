// SPDX-License-Identifier: Apache-2.0
//
// all_reduce between ranks when one is late, absent or unable: the rank that the others name, and
// the end of their waits. Part of mpi_transport_test; main() there makes the session.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "kernels/base/error_for_test.h"
#include "kernels/comm/mpi/mpi_members_for_test.h"
#include "kernels/runtime/counter.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::comm {
namespace {

using regatta::testing_support::error_of;
using testing_support::Case;
using testing_support::Dealing;
using testing_support::kGroup;
using testing_support::Member;
using testing_support::Members;
using testing_support::node_of;
using testing_support::processes;
using testing_support::session;

constexpr std::int64_t kShortNs = 50'000'000;

/// The last rank's members are absent; the others name the member that they wait for.
TEST(MpiTransport, NamesTheMemberThatDoesNotCome) {
  if (session->size() == 1) GTEST_SKIP() << "one rank has no other to wait for";
  const std::int64_t last = session->size() - 1;
  for (const std::string_view algorithm : {kRing, kReduceToOne}) {
    const Case test{.algorithm = std::string(algorithm),
                    .processes = processes(Dealing::OneEach),
                    .elements = 100};
    MpiTransportOptions options = Members::small_chunks();
    options.limit_ns = kShortNs;
    Members members(test, options);
    if (session->rank() == 0) {
      const std::string error = error_of([&] { members.all()[0]->run(); }, ErrorKind::Timeout);
      // The ring waits for its first neighbour, reduce_to_one for the first member that it adds.
      const std::int64_t awaited = algorithm == kRing ? last : 1;
      EXPECT_EQ(error, "all_reduce 3: member 0 in process 0 waited in vain for member " +
                           std::to_string(awaited) + " in process " + std::to_string(awaited));
    }
    session->barrier();
  }
}

TEST(MpiTransport, EndsAWaitWhenTheRunIsAborted) {
  if (session->size() == 1) GTEST_SKIP() << "one rank has no other to wait for";
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
  if (session->size() == 1) GTEST_SKIP() << "one rank has no other to wait for";
  constexpr std::int64_t kLateNs = 500'000'000;  // long enough for a slow, busy machine
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
    EXPECT_GT(waited, kLateNs / 4);
  }
  session->barrier();
}

TEST(MpiTransport, RefusesAMemberInAProcessThatMpiDidNotStart) {
  MpiTransport transport(*session);
  KernelTable table("test");
  transport.add_kernels(table);
  const std::int64_t beyond = session->size();
  const Case test{.algorithm = "ring", .processes = {session->rank(), beyond}, .elements = 10};
  const std::string error =
      error_of([&] { Member member(table, node_of(test, 0, kGroup), test.bucket(), nullptr); },
               ErrorKind::Usage);
  EXPECT_EQ(error, "all_reduce 3: a member lives in process " + std::to_string(beyond) +
                       ", but MPI started " + std::to_string(beyond));
}

}  // namespace
}  // namespace regatta::comm
