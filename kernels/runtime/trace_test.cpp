// SPDX-License-Identifier: Apache-2.0
//
// The timeline of a run of all_reduce: lanes side by side, and buckets that travel during backward.
#include "kernels/runtime/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
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
  double begin = 0;
  double end = 0;
  int lane = 0;
  int step = 0;
};

std::vector<Event> events_of(const std::string& trace) {
  std::istringstream lines(trace);
  std::vector<Event> events;
  for (std::string line; std::getline(lines, line);) {
    char name[100] = {};
    double begin = 0, duration = 0;
    Event event;
    if (std::sscanf(line.c_str(),
                    R"({"name":"%99[^"]","cat":"%*[^"]","ph":"X","ts":%lf,"dur":%lf,"pid":0,)"
                    R"("tid":%d,"args":{"step":%d})",
                    name, &begin, &duration, &event.lane, &event.step) != 5) {
      continue;
    }
    event.name = name;
    event.begin = begin;
    event.end = begin + duration;
    events.push_back(event);
  }
  return events;
}

TEST(Trace, ShowsABucketTravelWhileBackwardGoesOn) {
  TrialOptions options;
  options.strategy = "all_reduce";
  options.options.replicas = 2;
  options.options.bucket_bytes = 256 * 1024;
  options.steps = 5;
  options.trace_events = 10'000;
  Trial run(thin(64, 5), shapes(), options);
  std::ostringstream out;
  run.executor().write_trace(out);
  const std::vector<Event> events = events_of(out.str());
  std::map<int, double> backward_ends;  // by step, of the first layer, which is the last
  for (const Event& event : events) {
    if (event.name == "convolution_backward_weights prep") {
      backward_ends[event.step] = std::max(backward_ends[event.step], event.end);
    }
  }
  ASSERT_EQ(backward_ends.size(), 5U);
  const auto hidden = std::count_if(events.begin(), events.end(), [&](const Event& event) {
    return event.name.rfind("all_reduce", 0) == 0 && event.end < backward_ends[event.step];
  });
  EXPECT_GE(hidden, 5);
}

}  // namespace
}  // namespace regatta
