// SPDX-License-Identifier: Apache-2.0
//
// all_reduce between ranks when one is absent: the rank that the others name, and
// the end of their waits. Part of mpi_transport_test; main() there makes the session.
#include <gtest/gtest.h>

#include <thread>

#include "kernels/base/error_for_test.h"
#include "kernels/comm/mpi/mpi_members_for_test.h"
#include "kernels/runtime/counter.h"

namespace regatta::comm {
namespace {

using namespace testing_support;

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

}  // namespace
}  // namespace regatta::comm
