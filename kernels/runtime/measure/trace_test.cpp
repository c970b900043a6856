// SPDX-License-Identifier: Apache-2.0
//
// The timeline of a run of all_reduce: lanes side by side, and buckets that travel during backward.
#include "kernels/runtime/measure/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/runtime/test_support.h"
#include "strategies/test_support.h"

namespace regatta {
namespace {

using testing_support::shapes;
using testing_support::thin;
using testing_support::Trial;
using testing_support::TrialOptions;

TEST(Trace, ShowsComputeAndCommunicationSideBySide) {
  TrialOptions options;
  options.strategy = "all_reduce";
  options.options.replicas = 2;
  options.steps = 3;
  options.trace_events = 10'000;
  Trial run(thin(64, 3), shapes(), options);
  std::ostringstream out;
  run.executor().write_trace(out);
  const std::string text = out.str();
  EXPECT_EQ(text.rfind("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", 0), 0U);
  EXPECT_NE(text.find(R"("args":{"name":"replica1 communication"})"), std::string::npos);
  EXPECT_NE(text.find(R"("name":"all_reduce head","cat":"communication","ph":"X")"),
            std::string::npos);
  EXPECT_NE(text.find(R"("name":"convolution prep","cat":"compute","ph":"X")"), std::string::npos);
}

/// An event of a Chrome trace, one a line. Units: microseconds.
struct Event {
  std::string name;
  std::string category;
  double begin = 0;
  double end = 0;
  std::string lane;  ///< `replica0`, `replica0 communication`
  int step = 0;
};

std::vector<Event> events_of(const std::string& trace) {
  std::istringstream lines(trace);
  std::vector<Event> events;
  std::string lane;  // whose name stands before its events
  for (std::string line; std::getline(lines, line);) {
    char name[100] = {};
    char category[100] = {};
    double duration = 0;
    int number = 0;
    if (std::sscanf(line.c_str(),
                    R"({"name":"thread_name","ph":"M","pid":0,"tid":%d,"args":{"name":"%99[^"]")",
                    &number, name) == 2) {
      lane = name;
      continue;
    }
    Event event;
    if (std::sscanf(line.c_str(),
                    R"({"name":"%99[^"]","cat":"%99[^"]","ph":"X","ts":%lf,"dur":%lf,"pid":0,)"
                    R"("tid":%d,"args":{"step":%d})",
                    name, category, &event.begin, &duration, &number, &event.step) != 6) {
      continue;
    }
    event.name = name;
    event.category = category;
    event.lane = lane;
    event.end = event.begin + duration;
    events.push_back(event);
  }
  return events;
}

/// Whether a replica began to compute something of a step while a bucket of its gradients of that
/// step was under way. Never so where communication blocks the lane that computes.
bool computed_meanwhile(const std::vector<Event>& events, const std::string& replica) {
  return std::any_of(events.begin(), events.end(), [&](const Event& bucket) {
    if (bucket.name.rfind("all_reduce", 0) != 0 || bucket.lane.rfind(replica, 0) != 0) return false;
    return std::any_of(events.begin(), events.end(), [&](const Event& each) {
      return each.category == "compute" && each.lane == replica && each.step == bucket.step &&
             bucket.begin < each.begin && each.begin < bucket.end;
    });
  });
}

TEST(Trace, ShowsABucketTravelWhileItsReplicaComputes) {
  TrialOptions options;
  options.strategy = "all_reduce";
  options.options.replicas = 2;
  options.options.given["bucket_bytes"] = 256 * 1024;
  options.steps = 5;
  options.trace_events = 10'000;
  std::set<std::string> waiting = {"replica0", "replica1"};
  constexpr int kAttempts = 20;  // of which a busy machine needs a second one at times
  for (int attempt = 0; attempt < kAttempts && !waiting.empty(); ++attempt) {
    Trial run(thin(64, 5), shapes(), options);
    std::ostringstream out;
    run.executor().write_trace(out);
    const std::vector<Event> events = events_of(out.str());
    const auto buckets = std::count_if(events.begin(), events.end(), [](const Event& event) {
      return event.name.rfind("all_reduce", 0) == 0;
    });
    ASSERT_GE(buckets, 2 * 2 * 5);  // two or more of each replica in a step
    std::erase_if(waiting,
                  [&](const std::string& replica) { return computed_meanwhile(events, replica); });
  }
  for (const std::string& replica : waiting) ADD_FAILURE() << replica << " only waited";
}

}  // namespace
}  // namespace regatta
