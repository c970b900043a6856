// SPDX-License-Identifier: Apache-2.0
//
// Tests the timeline of an all_reduce run: lanes side by side, buckets that travel during backward;
// and how times are written.
#include "kernels/runtime/measure/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <sstream>
#include <thread>

#include "kernels/runtime/test_support.h"
#include "strategies/equivalence_for_test.h"

namespace regatta {
namespace {

using namespace testing_support;

struct Span {
  std::string lane;  ///< `replica0`, `replica0 communication`
  std::string name;
  std::string category;
  std::int64_t step = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

std::vector<Span> spans_of(const Executor& executor) {
  std::vector<Span> spans;
  for (const TraceRow& row : executor.trace()) {
    for (std::size_t i = 0; i < row.label.size(); ++i) {
      const TraceLabel& label = row.labels.at(row.label[i]);
      spans.push_back({.lane = row.name,
                       .name = label.name,
                       .category = label.category,
                       .step = row.step[i],
                       .begin = row.begin_ns[i],
                       .end = row.end_ns[i]});
    }
  }
  return spans;
}

TEST(Trace, ShowsComputeAndCommunicationSideBySide) {
  TrialOptions options = trial_of("all_reduce 2 steps=3");
  options.trace_events = 10'000;
  Trial run(thin(64, 3), shapes(), options);
  const std::vector<Span> spans = spans_of(run.executor());
  const auto has = [&](const std::string& lane, const std::string& name,
                       const std::string& category) {
    return std::any_of(spans.begin(), spans.end(), [&](const Span& span) {
      return span.lane == lane && span.name == name && span.category == category;
    });
  };
  EXPECT_TRUE(has("replica1 communication", "all_reduce head between replicas", "communication"));
  EXPECT_TRUE(has("replica1", "convolution prep", "compute"));
}

/// Whether a replica began to compute part of a step while one of its gradient buckets of that step
/// was in flight. Always false if communication blocks the lane that computes.
bool computed_meanwhile(const std::vector<Span>& events, const std::string& replica) {
  return std::any_of(events.begin(), events.end(), [&](const Span& bucket) {
    if (bucket.name.rfind("all_reduce", 0) != 0 || bucket.lane.rfind(replica, 0) != 0) return false;
    return std::any_of(events.begin(), events.end(), [&](const Span& each) {
      return each.category == "compute" && each.lane == replica && each.step == bucket.step &&
             bucket.begin < each.begin && each.begin < bucket.end;
    });
  });
}

TEST(Trace, ShowsABucketTravelWhileItsReplicaComputes) {
  TrialOptions options = trial_of("all_reduce 2 steps=5");
  options.options.given["bucket_bytes"] = 256 * 1024;
  options.trace_events = 10'000;
  std::set<std::string> waiting = {"replica0", "replica1"};
  constexpr int kAttempts = 20;  // a busy machine sometimes needs more than one
  for (int attempt = 0; attempt < kAttempts && !waiting.empty(); ++attempt) {
    Trial run(thin(64, 5), shapes(), options);
    const std::vector<Span> events = spans_of(run.executor());
    const auto buckets = std::count_if(events.begin(), events.end(), [](const Span& event) {
      return event.name.rfind("all_reduce", 0) == 0;
    });
    ASSERT_GE(buckets, 2 * 2 * 5);  // two or more of each replica in a step
    std::erase_if(waiting,
                  [&](const std::string& replica) { return computed_meanwhile(events, replica); });
  }
  for (const std::string& replica : waiting) ADD_FAILURE() << replica << " only waited";
}

TEST(Trace, KeepsSpansThatMeetFromOverlappingByRounding) {
  TraceBuffer events(1000);
  std::uint64_t tick = 7;
  for (std::int32_t i = 0; i < 1000; ++i) {
    const std::uint64_t begin = tick;
    tick += 1 + static_cast<std::uint64_t>(i % 11);
    events.add({.instruction = i % 2 - 1, .step = i, .begin = begin, .end = tick});
  }
  TraceRow row{.name = "lane", .labels = {{"wait", "wait"}, {"op", "compute"}}};
  add_spans(row, events,
            TickMap({.ns = 50, .ticks = 7}, {.ns = 50 + 2'000'000, .ticks = 6'000'007}));
  ASSERT_EQ(row.label.size(), 1000U);
  EXPECT_EQ(row.begin_ns.front(), 50);
  for (std::size_t i = 0; i < 999; ++i) {
    EXPECT_LE(row.begin_ns[i], row.end_ns[i]);
    EXPECT_EQ(row.end_ns[i], row.begin_ns[i + 1]);
    EXPECT_EQ(row.label[i], i % 2);
  }
}

TEST(Trace, LaysOneSpanAfterTheOtherWhereCountersOfCoresDiffer) {
  TraceBuffer events(3);
  events.add({.begin = 10, .end = 20});
  events.add({.begin = 19, .end = 18});
  events.add({.begin = 25, .end = 30});
  TraceRow row;
  add_spans(row, events, TickMap({.ns = 0, .ticks = 0}, {.ns = 100, .ticks = 100}));
  EXPECT_EQ(row.begin_ns, (std::vector<std::int64_t>{10, 20, 25}));
  EXPECT_EQ(row.end_ns, (std::vector<std::int64_t>{20, 20, 30}));
}

TEST(Trace, TellsInOneSpanHowManyWereNotKept) {
  TraceBuffer events(2);
  for (std::int64_t step = 0; step < 5; ++step) {
    const auto at = static_cast<std::uint64_t>(10 * step);
    events.add({.step = step, .begin = at, .end = at + 9});
  }
  TraceRow row{.name = "lane", .labels = {{"wait", "wait"}, {"op", "compute"}}};
  add_spans(row, events, TickMap({.ns = 0, .ticks = 0}, {.ns = 100, .ticks = 100}));
  ASSERT_EQ(row.label.size(), 3U);
  EXPECT_EQ(row.labels.at(row.label.back()).name, "3 spans that were not kept");
  EXPECT_EQ(row.begin_ns.back(), 19);
  EXPECT_EQ(row.end_ns.back(), 49);
}

TraceRow row_of(const std::string& name, std::int64_t begin_ns, std::int64_t end_ns) {
  TraceRow row{.name = name, .labels = {{"op", "compute"}}};
  row.label = {0};
  row.step = {5};
  row.begin_ns = {begin_ns};
  row.end_ns = {end_ns};
  return row;
}

TEST(Trace, IsWrittenFromTheFirstSpanOnWithTheNamesOfProcessesAndLanes) {
  std::ostringstream out;
  write_chrome_trace(out,
                     {{.rank = 0, .name = "rank 0", .rows = {row_of("a", 4'000, 5'002)}},
                      {.rank = 1,
                       .name = "rank 1",
                       .rows = {row_of("b", 3'999, 4'000), row_of("c", 1'004'020, 1'004'020)}}});
  EXPECT_EQ(out.str(), R"({"displayTimeUnit":"ns","traceEvents":[
{"name":"process_name","ph":"M","pid":0,"tid":1,"args":{"name":"rank 0"}},
{"name":"process_sort_index","ph":"M","pid":0,"tid":1,"args":{"sort_index":0}},
{"name":"thread_name","ph":"M","pid":0,"tid":1,"args":{"name":"a"}},
{"name":"thread_sort_index","ph":"M","pid":0,"tid":1,"args":{"sort_index":1}},
{"name":"op","cat":"compute","ph":"X","ts":0.001,"dur":1.002,"pid":0,"tid":1,"args":{"step":5}},
{"name":"process_name","ph":"M","pid":1,"tid":2,"args":{"name":"rank 1"}},
{"name":"process_sort_index","ph":"M","pid":1,"tid":2,"args":{"sort_index":1}},
{"name":"thread_name","ph":"M","pid":1,"tid":2,"args":{"name":"b"}},
{"name":"thread_sort_index","ph":"M","pid":1,"tid":2,"args":{"sort_index":2}},
{"name":"op","cat":"compute","ph":"X","ts":0.000,"dur":0.001,"pid":1,"tid":2,"args":{"step":5}},
{"name":"thread_name","ph":"M","pid":1,"tid":3,"args":{"name":"c"}},
{"name":"thread_sort_index","ph":"M","pid":1,"tid":3,"args":{"sort_index":3}},
{"name":"op","cat":"compute","ph":"X","ts":1000.021,"dur":0.000,"pid":1,"tid":3,"args":{"step":5}}
]}
)");
}

TEST(TickMap, FollowsTheSteadyClockBetweenItsMoments) {
  const Moment begin = moment();
  const Moment middle = moment();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const Moment late = moment();
  const Moment end = moment();
  const TickMap map(begin, end);
  EXPECT_EQ(map.ns(begin.ticks), begin.ns);
  EXPECT_EQ(map.ns(end.ticks), end.ns);
  EXPECT_NEAR(static_cast<double>(map.ns(middle.ticks) - middle.ns), 0, 5'000);
  EXPECT_NEAR(static_cast<double>(map.ns(late.ticks) - late.ns), 0, 5'000);
}

}  // namespace
}  // namespace regatta
