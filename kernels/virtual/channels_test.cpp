// SPDX-License-Identifier: Apache-2.0
//
// Arrival times of messages that begin at a link filled by others. Units: bytes, nanoseconds.
#include "kernels/virtual/channels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace regatta::virtual_time {
namespace {

constexpr double kQueue = 100;

/// Processes 0 and 3 are on the first of three hosts, 1 and 2 on the others.
class ChannelsTest : public testing::Test {
 protected:
  /// Connects the hosts by links of 1 byte per nanosecond: out, and in if `in_is_limited`.
  void connect(bool in_is_limited) {
    for (int h = 0; h < 3; ++h) {
      cluster_.hosts.push_back(
          {.out_bytes_per_ns = 1, .in_bytes_per_ns = in_is_limited ? 1 : kNoLimit});
    }
    cluster_.queue_bytes = kQueue;
    channels_.emplace(cluster_, host_of_, events_, network_);
  }

  /// Posts a message whose arrival is reported under the number `name`.
  void post(double at, int name, int from, int to, std::int64_t bytes,
            Carrier carrier = Carrier::Grpc) {
    posts_.emplace(at, [=, this] {
      channels_->post(at, from, to, {.carrier = carrier, .bytes = bytes}, {.index = name});
    });
  }

  /// The arrival time of each message, by name.
  std::map<int, double> arrivals() {
    std::map<int, double> arrived;
    while (!posts_.empty() || !events_.empty()) {
      double now = posts_.empty() ? kNoLimit : posts_.begin()->first;
      if (!events_.empty()) now = std::min(now, events_.next().time);
      while (!posts_.empty() && posts_.begin()->first <= now) {
        posts_.begin()->second();
        posts_.erase(posts_.begin());
      }
      while (!events_.empty() && events_.next().time <= now) {
        const Event event = events_.take();
        if (event.kind == EventKind::MessageBegins) channels_->begin_flow(event);
        if (event.kind == EventKind::FlowEnds && network_.ends(event)) channels_->end_flow(event);
        if (event.kind == EventKind::MessageArrives) arrived[event.index] = event.time;
      }
      network_.settle(now);
    }
    return arrived;
  }

 private:
  Cluster cluster_;
  std::vector<int> host_of_{0, 1, 2, 0};
  EventQueue events_;
  Network network_{events_};
  std::optional<Channels> channels_;
  std::multimap<double, std::function<void()>> posts_;
};

TEST_F(ChannelsTest, WaitOnceForWhatOthersKeepInFrontOfAFullLink) {
  connect(false);
  post(0, 0, 0, 1, 1000);
  post(200, 1, 0, 2, 500);  // begins at 300, then has half of the link
  post(400, 2, 0, 2, 0);    // follows on the same channel
  post(200, 3, 0, 3, 500);  // stays on the host
  post(1450, 4, 0, 2, 0);   // the first has 50 bytes left
  const std::map<int, double> expected{{0, 1500}, {1, 1300}, {2, 1300}, {3, 200}, {4, 1500}};
  EXPECT_EQ(arrivals(), expected);
}

TEST_F(ChannelsTest, WaitInFrontOfTheFirstOfLinksThatAreFullAlike) {
  connect(true);
  post(0, 0, 0, 1, 1000);
  post(200, 1, 0, 1, 0, Carrier::OpenMpi);  // crosses both full links
  post(200, 2, 2, 1, 0);                    // crosses the second only
  const std::map<int, double> expected{{0, 1000}, {1, 300}, {2, 200}};
  EXPECT_EQ(arrivals(), expected);
}

}  // namespace
}  // namespace regatta::virtual_time
