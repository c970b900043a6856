// SPDX-License-Identifier: Apache-2.0
//
// Flows begin at random times, in stars (out of a host, in some stars through a link that all
// share, into a host) and through links in any order; they end at SimGrid's times. Skipped if CMake
// found no SimGrid 3 (Debian 12: libsimgrid-dev).
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "kernels/virtual/flows_for_test.h"

namespace regatta::virtual_time {
namespace {

using Random = std::mt19937;

double between(Random& random, double least, double most) {
  return std::uniform_real_distribution<double>(least, most)(random);
}

int below(Random& random, int end) {
  return std::uniform_int_distribution<int>(0, end - 1)(random);
}

/// A flow of whole bytes, because SimGrid counts whole bytes.
TestFlow random_flow(Random& random, std::vector<int> links) {
  TestFlow flow{.begins = between(random, 0, 20),
                .bytes = static_cast<double>(1 + below(random, 100)),
                .links = std::move(links)};
  if (below(random, 3) == 0) flow.most = between(random, 0.25, 5);
  return flow;
}

/// Adds flows between `hosts` hosts.
void add_star(TestFlows& all, Random& random, int hosts, int flows) {
  const int first = static_cast<int>(all.capacities.size());
  for (int link = 0; link < 2 * hosts; ++link) all.capacities.push_back(between(random, 1, 20));
  const bool has_core = below(random, 2) == 0;
  if (has_core) all.capacities.push_back(between(random, 5, 20));
  for (int i = 0; i < flows; ++i) {
    const int from = below(random, hosts);
    const int to = (from + 1 + below(random, hosts - 1)) % hosts;
    std::vector<int> links{first + from};
    if (has_core) links.push_back(first + 2 * hosts);
    links.push_back(first + hosts + to);
    all.flows.push_back(random_flow(random, links));
  }
}

/// Adds flows through one to three of `links` links.
void add_mesh(TestFlows& all, Random& random, int links, int flows) {
  const int first = static_cast<int>(all.capacities.size());
  std::vector<int> own;
  for (int link = 0; link < links; ++link) {
    all.capacities.push_back(between(random, 1, 20));
    own.push_back(first + link);
  }
  for (int i = 0; i < flows; ++i) {
    std::shuffle(own.begin(), own.end(), random);
    all.flows.push_back(random_flow(random, {own.begin(), own.begin() + 1 + below(random, 3)}));
  }
}

std::vector<double> ends_by_network(const TestFlows& all) {
  EventQueue events;
  Network network(events);
  for (const double capacity : all.capacities) network.add_link(capacity);
  std::vector<std::size_t> waiting(all.flows.size());
  for (std::size_t i = 0; i < waiting.size(); ++i) waiting[i] = i;
  std::sort(waiting.begin(), waiting.end(), [&](std::size_t a, std::size_t b) {
    return all.flows[a].begins > all.flows[b].begins;
  });
  std::vector<std::size_t> flow_of(all.flows.size());  // by number; numbers are reused
  std::vector<double> ends(all.flows.size());
  while (!waiting.empty() || !events.empty()) {
    if (!waiting.empty() &&
        (events.empty() || all.flows[waiting.back()].begins <= events.next().time)) {
      const TestFlow& flow = all.flows[waiting.back()];
      Route route;
      for (const int link : flow.links) route.add(link);
      const int number = network.begin(flow.begins, route, flow.most, flow.bytes);
      flow_of.at(static_cast<std::size_t>(number)) = waiting.back();
      waiting.pop_back();
      network.settle(flow.begins);
      continue;
    }
    const Event event = events.take();
    if (!network.ends(event)) continue;
    ends[flow_of[static_cast<std::size_t>(event.index)]] = event.time;
    network.end(event.index);
    network.settle(event.time);
  }
  return ends;
}

TEST(NetworkAgainstSimGrid, RandomFlowsEndAtTheSameTimes) {
  Random random(24);
  TestFlows all;
  for (int round = 0; round < 15; ++round) {
    add_star(all, random, 2 + below(random, 7), 20);
    add_mesh(all, random, 3 + below(random, 10), 20);
  }
  const std::optional<std::vector<double>> ends = ends_by_simgrid(all);
  if (!ends) GTEST_SKIP() << "SimGrid 3 is not installed (Debian 12: libsimgrid-dev)";
  const std::vector<double> own = ends_by_network(all);
  for (std::size_t i = 0; i < own.size(); ++i) {
    EXPECT_NEAR(own[i], (*ends)[i], 1e-6 * own[i]) << "flow " << i;
  }
}

}  // namespace
}  // namespace regatta::virtual_time
