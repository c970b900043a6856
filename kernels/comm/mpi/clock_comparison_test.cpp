// SPDX-License-Identifier: Apache-2.0
//
// Clock comparisons by round trips between artificial clocks.
#include "kernels/comm/mpi/clock_comparison.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "kernels/comm/mpi/process_clock.h"

namespace regatta::comm {
namespace {

constexpr std::int64_t kOffsetNs = 7'000'000'000;  // of the other clock

/// A round trip: the message takes `there_ns`, the answer `back_ns`.
RoundTrip trip(std::int64_t sent_ns, std::int64_t there_ns, std::int64_t back_ns) {
  return {.sent_ns = sent_ns,
          .there_ns = sent_ns + there_ns + kOffsetNs,
          .received_ns = sent_ns + there_ns + back_ns};
}

TEST(CompareClocks, GoesByTheQuickestRoundTrip) {
  const std::array trips = {trip(100'000, 900, 40'000), trip(200'000, 250, 150),
                            trip(300'000, 50'000, 100), trip(400'000, 300, 300)};
  const ClockComparison found = compare_clocks(trips);
  EXPECT_EQ(found.own_ns, 200'200);
  EXPECT_EQ(found.offset_ns, kOffsetNs + 50);  // plus half of the difference between the two ways
  EXPECT_EQ(found.error_ns, 200);
}

TEST(CompareClocks, BoundsTheErrorHoweverUnevenTheTwoWaysAre) {
  for (std::int64_t there_ns = 0; there_ns <= 1001; there_ns += 143) {
    const std::array trips = {trip(5'000, there_ns, 1001 - there_ns)};
    const ClockComparison found = compare_clocks(trips);
    EXPECT_LE(std::abs(found.offset_ns - kOffsetNs), found.error_ns) << there_ns;
    EXPECT_EQ(found.error_ns, 501);
  }
}

TEST(CompareClocks, TakesTheClockOfAHostForOneUnlessTheRoundTripsContradict) {
  const ClockComparison same = of_one_host({.own_ns = 10, .offset_ns = -300, .error_ns = 300});
  EXPECT_EQ(same.own_ns, 10);
  EXPECT_EQ(same.offset_ns, 0);
  EXPECT_EQ(same.error_ns, 0);
  const ClockComparison other = of_one_host({.own_ns = 10, .offset_ns = -301, .error_ns = 300});
  EXPECT_EQ(other.offset_ns, -301);
  EXPECT_EQ(other.error_ns, 300);
}

TEST(ClockMap, FollowsTheDriftBetweenTwoComparisons) {
  const ClockMap map({.own_ns = 1'000'000, .offset_ns = kOffsetNs, .error_ns = 30},
                     {.own_ns = 3'000'000, .offset_ns = kOffsetNs - 800, .error_ns = 20});
  EXPECT_EQ(map.other_ns(1'000'000), 1'000'000 + kOffsetNs);
  EXPECT_EQ(map.other_ns(1'500'000), 1'500'000 + kOffsetNs - 200);
  EXPECT_EQ(map.other_ns(3'000'000), 3'000'000 + kOffsetNs - 800);
  EXPECT_EQ(map.drift_ppb(), -400'000);
}

TEST(ClockMap, IsAsUncertainAsTheWorseOfItsComparisons) {
  const ClockComparison good{.own_ns = 10, .offset_ns = 0, .error_ns = 3};
  const ClockComparison bad{.own_ns = 20, .offset_ns = 0, .error_ns = 40};
  EXPECT_EQ(ClockMap(good, bad).error_ns(), 40);
  EXPECT_EQ(ClockMap(bad, good).error_ns(), 40);
}

TEST(ClockMap, GainsNothingBetweenComparisonsOfOneMoment) {
  const ClockComparison once{.own_ns = 10, .offset_ns = 500, .error_ns = 3};
  EXPECT_EQ(ClockMap(once, once).other_ns(1'000), 1'500);
  EXPECT_EQ(ClockMap(once, once).drift_ppb(), 0);
}

TEST(ProcessClock, IsTheSteadyClockUnlessATestMakesItWrong) {
  EXPECT_EQ(ProcessClock().at(123'456'789), 123'456'789);
  const ProcessClock wrong({.offset_ns = -2'000, .drift_ppb = 1'000'000});
  const std::int64_t later_ns = now_ns() + 1'000'000;
  EXPECT_NEAR(static_cast<double>(wrong.at(later_ns) - later_ns), -2'000 + 1'000, 500);
  EXPECT_EQ(wrong.at(later_ns + 5'000'000) - wrong.at(later_ns), 5'005'000);
}

}  // namespace
}  // namespace regatta::comm
