// SPDX-License-Identifier: Apache-2.0
//
// Tests timelines of ranks whose clocks have another origin and rate.
#include "harness/ranks/rank_traces.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "harness/system/process.h"
#include "kernels/comm/mpi/process_clock.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::ranks {
namespace {

void compare(RankTraces& traces, int rank, const comm::ProcessClock& clock,
             const std::string& host) {
  for (int trip = 0; trip < RankTraces::kRoundTrips; ++trip) {
    EXPECT_TRUE(traces.ask_time(rank).has_tell_time());
    control::Time time;
    time.set_steady_ns(clock.now());
    traces.take(rank, time);
  }
  traces.compare(rank, host);
}

/// Sends a rank's trace of one span.
bool send(RankTraces& traces, int rank, std::int64_t begin_ns, std::int64_t end_ns) {
  TraceRow row{.name = "lane", .labels = {{"op", "compute"}}};
  row.label = {0};
  row.step = {0};
  row.begin_ns = {begin_ns};
  row.end_ns = {end_ns};
  bool last = false;
  send_trace({.rank = rank, .name = "rank", .rows = {row}}, [&](const control::FromRank& message) {
    EXPECT_FALSE(last);
    last = traces.take(rank, message.trace_piece());
  });
  return last;
}

constexpr std::int64_t kOffsetNs = 3'600'000'000'000;
constexpr std::int64_t kDriftPpb = -50'000'000;  // far more than a real clock has

TEST(RankTraces, StandOnTheClockOfTheCoordinator) {
  const comm::ProcessClock own;
  const comm::ProcessClock other({.offset_ns = kOffsetNs, .drift_ppb = kDriftPpb});
  RankTraces traces(2);
  compare(traces, 0, own, system::host_name());
  compare(traces, 1, other, "another host");
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::int64_t middle_ns = now_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  compare(traces, 0, own, system::host_name());
  compare(traces, 1, other, "another host");
  EXPECT_TRUE(send(traces, 0, middle_ns, middle_ns + 1'000'000));
  EXPECT_TRUE(send(traces, 1, other.at(middle_ns), other.at(middle_ns + 1'000'000)));
  const std::vector<ProcessTrace> joined = traces.joined();
  ASSERT_EQ(joined.size(), 2U);
  EXPECT_EQ(joined[0].name, "rank");  // without an error
  EXPECT_EQ(joined[0].rows[0].begin_ns[0], middle_ns);
  EXPECT_EQ(joined[0].rows[0].end_ns[0], middle_ns + 1'000'000);
  EXPECT_EQ(joined[1].name.rfind("rank (its clock within ", 0), 0U) << joined[1].name;
  constexpr double kErrorNs = 100'000;  // its drift alone makes 1 ms in 20 ms
  EXPECT_NEAR(static_cast<double>(joined[1].rows[0].begin_ns[0] - middle_ns), 0, kErrorNs);
  EXPECT_NEAR(static_cast<double>(joined[1].rows[0].end_ns[0] - middle_ns), 1e6, kErrorNs);
}

TEST(RankTraces, OfRanksThatDoNotAnswerAreMissing) {
  RankTraces traces(3);
  const comm::ProcessClock own;
  compare(traces, 0, own, system::host_name());
  compare(traces, 2, own, system::host_name());
  EXPECT_TRUE(send(traces, 2, 5, 6));
  traces.compare(1, system::host_name());  // rank 1 has not answered
  EXPECT_TRUE(send(traces, 1, 5, 6));
  const std::vector<ProcessTrace> joined = traces.joined();
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_EQ(joined[0].rank, 2);
}

}  // namespace
}  // namespace regatta::ranks
