// SPDX-License-Identifier: Apache-2.0
//
// Tests the time of a message by size, and that a simulation uses it.
#include "kernels/virtual/cluster.h"

#include <gtest/gtest.h>

#include <map>

#include "kernels/virtual/simulation_for_test.h"

namespace regatta::virtual_time {
namespace {

const Way kMeasured{
    .message_ns = 100, .bytes_per_ns = 2, .points = {{100, 100}, {1'000, 1'000}, {2'000, 1'100}}};

TEST(Way, IsStraightWithoutPoints) {
  const Way way{.message_ns = 100, .bytes_per_ns = 2};
  EXPECT_EQ(way.ns_of(0), 100);
  EXPECT_EQ(way.ns_of(50), 125);
  EXPECT_EQ(way.rate_of(50), 2);
  EXPECT_EQ(Way{}.ns_of(1e9), 0);
  EXPECT_EQ(Way{}.rate_of(1e9), kNoLimit);
}

TEST(Way, GoesThroughItsPoints) {
  EXPECT_EQ(kMeasured.ns_of(0), 100);
  EXPECT_EQ(kMeasured.ns_of(60), 100);
  EXPECT_EQ(kMeasured.rate_of(60), kNoLimit);
  for (const MessageTime& point : kMeasured.points) {
    EXPECT_EQ(kMeasured.ns_of(point.bytes), point.ns);
  }
  EXPECT_EQ(kMeasured.ns_of(550), 550);
  EXPECT_EQ(kMeasured.ns_of(1'500), 1'050);
  EXPECT_EQ(kMeasured.rate_of(2'000), 2);
  EXPECT_EQ(kMeasured.ns_of(2'200), 1'200);
}

TEST(Way, TakesTheCoreTimesOfItsPointsAndMoreInProportion) {
  const Way way{.core_points = {{100, 50}, {200, 150}}};
  for (const auto& [bytes, ns] :
       std::map<double, double>{{1, 50}, {100, 50}, {150, 100}, {200, 150}, {400, 300}}) {
    EXPECT_EQ(way.core_ns_of(bytes), ns) << bytes;
  }
}

/// A ring of two sends two messages, each of half the bytes, one after the other.
TEST(VirtualTime, MessagesTakeWhatTheirSizeDid) {
  const testing_support::VirtualCase ring{.workload = "parabola"};
  Cluster cluster = testing_support::cluster_of(2, kNoLimit, 0);
  const double base = testing_support::Simulated(ring, 3, cluster, 10'000).ns_of_step();
  Way& way = cluster.transports.open_mpi.between_hosts;
  way.points = {{1, 0}, {1e6, 1e9}};
  const testing_support::Simulated measured(ring, 3, cluster, 10'000);
  const std::int64_t sent = measured.simulation->traffic().at(Place{.replica = 0}).sent / 3;
  ASSERT_GT(sent, 4);
  const double expected = 2 * way.ns_of(static_cast<double>(sent) / 2);
  EXPECT_NEAR((measured.ns_of_step() - base) / expected, 1, 0.01);
}

}  // namespace
}  // namespace regatta::virtual_time
