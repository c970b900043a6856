// SPDX-License-Identifier: Apache-2.0
//
// A rendezvous of ranks over MPI, before they connect by other transports. Part of
// mpi_transport_test; main() there makes the session.
#include "kernels/comm/mpi/mpi_rendezvous.h"

#include <gtest/gtest.h>

#include "kernels/base/error_for_test.h"
#include "kernels/comm/mpi/mpi_members_for_test.h"

namespace regatta::comm {
namespace {

using regatta::testing_support::error_of;
using testing_support::session;

TEST(MpiRendezvous, HandsEachRankTheTextsOfAll) {
  MpiRendezvous rendezvous(*session);
  for (int round = 0; round < 3; ++round) {
    const auto text = [round](int rank) {
      return std::string(static_cast<std::size_t>(1000 * rank), 'x') + std::to_string(rank + round);
    };
    std::vector<std::string> expected;
    for (int rank = 0; rank < session->size(); ++rank) expected.push_back(text(rank));
    EXPECT_EQ(rendezvous.exchange(text(session->rank()), Patience{}), expected);
  }
  session->barrier();
}

TEST(MpiRendezvous, NamesTheRankThatDoesNotCome) {
  if (session->size() == 1) GTEST_SKIP() << "one rank has no other to wait for";
  MpiRendezvous rendezvous(*session);
  const int last = session->size() - 1;
  session->barrier();
  if (session->rank() != last) {
    const std::string error = error_of(
        [&] { rendezvous.exchange("here", {.limit_ns = 500'000'000}); }, ErrorKind::Timeout);
    EXPECT_EQ(error, "process " + std::to_string(session->rank()) +
                         " waited in vain to meet process " + std::to_string(last) +
                         "; fix: look at what that one printed last");
  }
  session->barrier();
}

TEST(MpiRendezvous, EndsAWaitWhenTheRunIsAborted) {
  if (session->size() == 1) GTEST_SKIP() << "one rank has no other to wait for";
  MpiRendezvous rendezvous(*session);
  AbortFlag abort;
  abort.raised = true;
  if (session->rank() == 0) {
    EXPECT_THROW(rendezvous.exchange("here", {.abort = &abort}), Aborted);
  }
  session->barrier();
}

}  // namespace
}  // namespace regatta::comm
