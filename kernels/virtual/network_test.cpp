// SPDX-License-Identifier: Apache-2.0
//
// Tests that rates of flows are max-min fair: no link carries more than its capacity, and each flow
// has its maximum rate or crosses a full link on which no flow is faster. Exactly one assignment of
// rates meets this condition (Bertsekas and Gallager, 1992, section 6.5.2).
#include "kernels/virtual/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace regatta::virtual_time {
namespace {

TEST(Network, FlowsShareALinkAndTakeWhatOthersLeave) {
  EventQueue events;
  Network network(events);
  const int wide = network.add_link(10);
  const int narrow = network.add_link(2);
  Route through_both;
  through_both.add(wide);
  through_both.add(narrow);
  Route through_wide;
  through_wide.add(wide);
  const int slow = network.begin(0, through_both, kNoLimit, 100);
  const int fast = network.begin(0, through_wide, kNoLimit, 100);
  const int limited = network.begin(0, through_wide, 1, 100);
  network.settle(0);
  EXPECT_DOUBLE_EQ(network.rate(slow), 2);
  EXPECT_DOUBLE_EQ(network.rate(limited), 1);
  EXPECT_DOUBLE_EQ(network.rate(fast), 7);
}

TEST(Network, AFlowThatEndsLeavesItsShareToTheOthers) {
  EventQueue events;
  Network network(events);
  Route route;
  route.add(network.add_link(10));
  network.begin(0, route, kNoLimit, 50);
  network.begin(0, route, kNoLimit, 100);
  std::vector<double> ends;
  network.settle(0);
  while (!events.empty()) {
    const Event event = events.take();
    if (!network.ends(event)) continue;
    network.end(event.index);
    ends.push_back(event.time);
    network.settle(event.time);
  }
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_DOUBLE_EQ(ends[0], 10);  // 50 bytes at 5 a nanosecond
  EXPECT_DOUBLE_EQ(ends[1], 15);  // 50 more at 10
}

TEST(Network, KeepsFewOfTheEndsThatItForesawBeforeRatesChanged) {
  constexpr int kFlows = 100;
  EventQueue events;
  Network network(events);
  Route route;
  route.add(network.add_link(kFlows));
  for (int i = 0; i < kFlows; ++i) network.begin(0, route, kNoLimit, 1e6 + i);
  std::size_t most = 0;
  for (int t = 0; t < 200; ++t) {
    const int passing = network.begin(t, route, kNoLimit, 10);
    network.settle(t);
    network.end(passing);
    most = std::max(most, events.size());
  }
  network.settle(200);
  EXPECT_EQ(events.added(), 201 * kFlows + 200);
  EXPECT_LT(most, 4000U);
  std::vector<int> order;
  while (!events.empty()) {
    const Event event = events.take();
    if (network.is_outdated(event)) continue;
    order.push_back(event.index);
    network.end(event.index);
    network.settle(event.time);
  }
  ASSERT_EQ(order.size(), 100U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

/// A core computes and sends. Sending at a rate of 1 takes half of the core.
TEST(Network, AFlowTakesOfALinkByItsWeight) {
  EventQueue events;
  Network network(events);
  const int core = network.add_link(1);
  Route all;
  all.add(core);
  Route half;
  half.add(core, 0.5);
  const int computes = network.begin(0, all, 1, 100);
  const int sends = network.begin(0, half, 2, 100);
  network.settle(0);
  EXPECT_DOUBLE_EQ(network.rate(computes), 2.0 / 3);
  EXPECT_DOUBLE_EQ(network.rate(sends), 2.0 / 3);
  network.end(computes);
  network.settle(1);
  EXPECT_DOUBLE_EQ(network.rate(sends), 2);
}

/// Rounds alternate between equal and random weights; a fourth of the flows has ended.
TEST(Network, RandomFlowsAreMaxMinFair) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    EventQueue events;
    Network network(events);
    std::uniform_real_distribution<double> capacity(1, 20);
    std::vector<double> links;
    for (int l = 0; l < 12; ++l) {
      links.push_back(capacity(random));
      network.add_link(links.back());
    }
    struct Flow {
      Route route;
      double most = kNoLimit;
      int number = 0;
    };
    std::vector<Flow> flows(20);
    for (Flow& flow : flows) {
      const int first = static_cast<int>(random() % 12);
      const auto weight = [&] { return round % 2 == 0 ? 1 : capacity(random) / 8; };
      flow.route.add(first, weight());
      flow.route.add((first + 1 + static_cast<int>(random() % 11)) % 12, weight());
      if (random() % 3 == 0) flow.most = capacity(random) / 4;
      flow.number = network.begin(0, flow.route, flow.most, 1000);
      if (random() % 2 == 0) network.settle(0);  // some rates are computed again later
    }
    network.settle(0);
    std::erase_if(flows, [&](const Flow& flow) {
      const bool is_over = random() % 4 == 0;
      if (is_over) network.end(flow.number);
      return is_over;
    });
    network.settle(1);
    std::vector<double> carried(links.size());
    std::vector<double> fastest(links.size());
    for (const Flow& flow : flows) {
      for (const Hop& hop : flow.route.all()) {
        const auto index = static_cast<std::size_t>(hop.link);
        carried[index] += network.rate(flow.number) * hop.weight;
        fastest[index] = std::max(fastest[index], network.rate(flow.number));
      }
    }
    for (std::size_t l = 0; l < links.size(); ++l) EXPECT_LE(carried[l], links[l] * (1 + 1e-12));
    for (const Flow& flow : flows) {
      const double rate = network.rate(flow.number);
      bool is_held = rate == flow.most;
      for (const Hop& hop : flow.route.all()) {
        const auto index = static_cast<std::size_t>(hop.link);
        const bool is_full = carried[index] >= links[index] * (1 - 1e-12);
        is_held = is_held || (is_full && rate >= fastest[index] * (1 - 1e-12));
      }
      EXPECT_TRUE(is_held) << "round " << round << ", flow " << flow.number;
    }
  }
}

TEST(Network, HasBytesWaitInFrontOfALinkThatLimitsFlows) {
  EventQueue events;
  Network network(events);
  const int link = network.add_link(2);
  Route route;
  route.add(link);
  EXPECT_EQ(network.wait_ns(0, link, 100), 0);
  network.begin(0, route, 1.5, 1000);
  network.settle(0);
  EXPECT_EQ(network.wait_ns(0, link, 100), 0);
  const int other = network.begin(0, route, kNoLimit, 1000);
  network.settle(0);
  EXPECT_EQ(network.wait_ns(0, link, 100), 100);   // 100 bytes of each
  EXPECT_EQ(network.wait_ns(990, link, 100), 10);  // 10 bytes left of each
  network.end(other);
  network.settle(0);
  EXPECT_EQ(network.wait_ns(0, link, 100), 0);
}

}  // namespace
}  // namespace regatta::virtual_time
