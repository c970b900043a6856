// SPDX-License-Identifier: Apache-2.0
//
// Lateness of ranks that is measured by artificially wrong clocks. The ranks of this test share a
// host and its clock, which gives the true values. Part of mpi_transport_test; main() there makes
// the session.
#include "kernels/comm/mpi/mpi_arrivals.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "kernels/comm/mpi/mpi_members_for_test.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::comm {
namespace {

using testing_support::session;

constexpr std::int64_t kRoundingNs = 2;  // of two times

/// A clock that differs for each rank: by seconds, and some percent faster or slower.
ProcessClock wrong_clock() {
  const std::int64_t rank = session->rank();
  return ProcessClock({.offset_ns = 1'000'000'000 * rank,
                       .drift_ppb = (rank % 2 == 0 ? -10'000'000 : 10'000'000) * rank});
}

/// The earliest of all ranks' times by the shared clock.
std::int64_t first_of(std::int64_t steady_ns) {
  mpi_call(mpi().allreduce(&steady_ns, 1, MpiReduction::LeastI64, mpi().world()), "MPI_Allreduce");
  return steady_ns;
}

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

TEST(MpiArrivals, TellHowLateARankCameWhateverItsClockShows) {
  MpiArrivals arrivals(wrong_clock());
  ExchangeTimes times;
  ArrivalLog& log = arrivals.log(3, session->size(), times);
  arrivals.connect(mpi().world(), *session);
  std::int64_t told_ns = 0;
  for (int round = 0; round < 8; ++round) {
    if (round % session->size() == session->rank()) sleep_ms(20);
    const std::int64_t came_ns = now_ns();
    log.arrive(arrivals.clock().at(came_ns));
    const std::int64_t late_ns = came_ns - first_of(came_ns);
    sleep_ms(5);  // enough for the clocks to drift apart
    arrivals.settle(mpi().world());
    EXPECT_LE(std::abs(times.late.sum() - told_ns - late_ns),
              arrivals.uncertainty_ns() + kRoundingNs);
    told_ns = times.late.sum();
    EXPECT_EQ(times.late.count(), round + 1);
  }
  // A larger uncertainty would prove nothing about the offsets.
  EXPECT_LT(arrivals.uncertainty_ns(), 300'000'000);
}

TEST(MpiArrivals, TellWhatTheClockShowsBesideThatOfRank0) {
  MpiArrivals arrivals(wrong_clock());
  ExchangeTimes times;
  arrivals.log(3, session->size(), times);
  EXPECT_FALSE(arrivals.facts().has_value());
  const std::int64_t begin_ns = now_ns();
  arrivals.connect(mpi().world(), *session);
  sleep_ms(50);
  arrivals.settle(mpi().world());
  const auto passed_ns = static_cast<double>(now_ns() - begin_ns);
  ASSERT_TRUE(arrivals.facts().has_value());
  const ClockFacts facts = *arrivals.facts();
  const ProcessClock mine = wrong_clock();
  const std::int64_t second_ns = mine.at(begin_ns + 1'000'000'000) - mine.at(begin_ns);
  const double drift = static_cast<double>(second_ns) / 1e9;
  const double expected_ppb = (1 / drift - 1) * 1e9;
  const double error_ns = static_cast<double>(facts.error_ns);
  // The offset leaves out the clock's gain between this test's begin and the comparison.
  EXPECT_NEAR(static_cast<double>(facts.offset_ns), -1e9 * session->rank(),
              error_ns + std::abs(drift - 1) * passed_ns);
  EXPECT_NEAR(static_cast<double>(facts.drift_ppb), expected_ppb,
              2 * error_ns / 50e6 * 1e9 + 1'000);
  EXPECT_EQ(facts.error_ns == 0, session->rank() == 0);
}

TEST(MpiArrivals, FindThatRanksOfOneHostShareAClock) {
  MpiArrivals arrivals(ProcessClock{});
  ExchangeTimes times;
  arrivals.log(3, session->size(), times);
  arrivals.connect(mpi().world(), *session);
  arrivals.settle(mpi().world());
  EXPECT_EQ(arrivals.facts(), ClockFacts{});
  EXPECT_EQ(arrivals.uncertainty_ns(), 0);
}

}  // namespace
}  // namespace regatta::comm
