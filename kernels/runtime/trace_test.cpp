// SPDX-License-Identifier: Apache-2.0
//
// The timeline of a run of all_reduce: lanes side by side, and buckets that travel during backward.
#include "kernels/runtime/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

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
  const std::regex line(
      R"re("name":"([^"]*)","cat":"[^"]*","ph":"X","ts":([0-9.]+),"dur":([0-9.]+),"pid":0,)re"
      R"re("tid":([0-9]+),"args":\{"step":([0-9]+)\})re");
  std::vector<Event> events;
  for (std::sregex_iterator match(trace.begin(), trace.end(), line), end; match != end; ++match) {
    const double begin = std::stod((*match)[2]);
    events.push_back({.name = (*match)[1],
                      .begin = begin,
                      .end = begin + std::stod((*match)[3]),
                      .lane = std::stoi((*match)[4]),
                      .step = std::stoi((*match)[5])});
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
