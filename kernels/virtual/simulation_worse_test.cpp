// SPDX-License-Identifier: Apache-2.0
//
// More bytes, a narrower link, a longer latency, dearer messages, a slower worker or fewer cores
// make no run faster: on one cluster strictly slower where it matters, on random ones never faster.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "kernels/virtual/simulation.h"
#include "kernels/virtual/simulation_for_test.h"

namespace regatta::virtual_time {
namespace {

using testing_support::all_kinds;
using testing_support::cluster_of;
using testing_support::kKernelNs;
using testing_support::parts_of;
using testing_support::VirtualCase;

constexpr std::int64_t kWorseSteps = 6;

struct Took {
  double ns = 0;        ///< of kWorseSteps steps
  double slack_ns = 0;  ///< the longest step if loops take their steps from one count: a slow loop
                        ///< may no longer get the last one
};

Took time_of(const std::vector<Step>& parts, const Cluster& cluster, double kernel_ns,
             const std::map<int, double>& stragglers = {}) {
  const Program program = make_program(parts, testing_support::costs_of(parts, kernel_ns), 1);
  SimulationOptions options{.stragglers = stragglers};
  for (int p = 0; p < program.processes; ++p) {
    options.host_of.push_back(p % static_cast<int>(cluster.hosts.size()));
  }
  Simulation simulation(program, cluster, options);
  simulation.advance_to(kWorseSteps * program.global_batch);
  Took took{.ns = simulation.now()};
  if (program.loops.size() == 1) return took;
  for (const SimulatedLoop& loop : simulation.loops()) {
    for (const double ns : loop.step_ns) took.slack_ns = std::max(took.slack_ns, ns);
  }
  return took;
}

std::size_t lanes_of(const std::vector<Step>& parts) {
  return make_program(parts, {}, 1).lanes.size();
}

bool crosses_hosts(const std::vector<Step>& parts) {
  return std::any_of(parts.begin(), parts.end(), [](const Step& part) {
    const auto& nodes = part.graph.nodes();
    return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
      return node.op == Op::Send || node.attributes.has("processes");
    });
  });
}

class WorseClusters : public testing::TestWithParam<VirtualCase> {};

TEST_P(WorseClusters, AreSlowerWhereItMatters) {
  const std::vector<Step> parts = parts_of(GetParam());
  const Cluster cluster = cluster_of(4, 1, 10'000);
  const double base = time_of(parts, cluster, kKernelNs).ns;
  EXPECT_GT(time_of(parts, cluster, 2 * kKernelNs).ns, base);
  Cluster narrow = cluster;
  narrow.core_bytes_per_ns = 0.25;
  const std::vector<Cluster> worse = {cluster_of(4, 0.5, 10'000), cluster_of(4, 1, 40'000), narrow};
  for (const Cluster& each : worse) {
    if (crosses_hosts(parts)) {
      EXPECT_GT(time_of(parts, each, kKernelNs).ns, base);
    } else {
      EXPECT_EQ(time_of(parts, each, kKernelNs).ns, base);
    }
  }
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(engine_()) * 0x1p-64;
  }
  /// A number with a uniform logarithm.
  double scaled(double low, double high) {
    return std::exp(between(std::log(low), std::log(high)));
  }
  std::int64_t below(std::int64_t most) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(most));
  }

 private:
  std::mt19937_64 engine_;
};

/// How often concurrent messages and computations share links and cores.
enum class Sharing : std::uint8_t {
  Never,  ///< each channel has its own link, each server lane its own core
  Often,  ///< links of hosts, a link that all traffic crosses, few cores at servers
};

/// Adds measured times of increasing sizes.
void measure(Way& way, Random& random) {
  MessageTime point{.bytes = 1, .ns = way.message_ns};
  for (int i = 0; i < 5; ++i) {
    point.bytes *= random.scaled(2, 50);
    point.ns *= random.scaled(1, 10);
    way.points.push_back(point);
  }
}

Cluster random_cluster(Random& random, Sharing sharing) {
  Cluster cluster = cluster_of(static_cast<std::size_t>(2 + random.below(4)), kNoLimit, 0);
  if (random.below(3) > 0) cluster.latency_ns = random.scaled(1'000, 1'000'000);
  for (MessageCosts* each :
       {&cluster.transports.in_process, &cluster.transports.open_mpi, &cluster.transports.grpc}) {
    each->between_hosts = {random.scaled(100, 100'000), random.scaled(0.02, 10)};
    each->on_host = {random.scaled(100, 10'000), random.scaled(1, 50)};
    if (random.below(2) == 0) measure(each->between_hosts, random);
    each->adding_bytes_per_ns = random.scaled(1, 50);
  }
  cluster.transports.open_mpi_sums = cluster.transports.open_mpi;
  cluster.transports.grpc.sending_bytes_per_ns = random.scaled(0.5, 10);
  if (random.below(2) == 0) {
    cluster.compute_times = {.kind = ComputeTimes::Kind::Gamma, .spread = 0.3};
  }
  if (sharing == Sharing::Never) return cluster;
  for (VirtualHost& host : cluster.hosts) {
    host.out_bytes_per_ns = random.scaled(0.02, 10);
    if (random.below(2) == 0) host.in_bytes_per_ns = random.scaled(0.02, 10);
  }
  if (random.below(2) == 0) cluster.core_bytes_per_ns = random.scaled(0.05, 10);
  cluster.server_cores = static_cast<int>(1 + random.below(4));
  return cluster;
}

/// Scales the times of bytes, not the costs of messages.
void scale_rate(Way& way, double factor) {
  way.bytes_per_ns *= factor;
  for (MessageTime& point : way.points) {
    point.ns = way.message_ns + (point.ns - way.message_ns) / factor;
  }
}

void scale_bandwidths(Cluster& cluster, double factor) {
  for (VirtualHost& host : cluster.hosts) {
    host.out_bytes_per_ns *= factor;
    host.in_bytes_per_ns *= factor;
  }
  cluster.core_bytes_per_ns *= factor;
  scale_rate(cluster.transports.open_mpi.between_hosts, factor);
  scale_rate(cluster.transports.open_mpi_sums.between_hosts, factor);
  scale_rate(cluster.transports.grpc.between_hosts, factor);
}

void expect_never_faster(const VirtualCase& given, Sharing sharing, double tolerance) {
  VirtualCase test = given;
  test.batch = 64 * test.workers;
  const std::vector<Step> parts = parts_of(test);
  VirtualCase wider = test;
  wider.workload = "resnet9";  // the same graph with more channels
  const std::vector<Step> more_bytes = parts_of(wider);
  // Small exchanges run in a worker's compute lane, large ones in a lane of their own.
  const bool is_alike = lanes_of(more_bytes) == lanes_of(parts);
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Random random(seed);
    const Cluster cluster = random_cluster(random, sharing);
    const double kernel_ns = random.scaled(100, 100'000);
    const Took base = time_of(parts, cluster, kernel_ns);
    const auto expect = [&](const Took& worse, const char* what) {
      EXPECT_GE(worse.ns, base.ns * (1 - tolerance) - base.slack_ns) << what << ", seed " << seed;
    };
    if (is_alike) expect(time_of(more_bytes, cluster, kernel_ns), "more bytes");
    Cluster narrow = cluster;
    scale_bandwidths(narrow, random.between(0.2, 0.95));
    expect(time_of(parts, narrow, kernel_ns), "narrower links");
    Cluster longer = cluster;
    longer.latency_ns += random.scaled(1'000, 1'000'000);
    expect(time_of(parts, longer, kernel_ns), "a longer way");
    Cluster dearer = cluster;
    for (MessageCosts* each :
         {&dearer.transports.open_mpi, &dearer.transports.open_mpi_sums, &dearer.transports.grpc}) {
      for (Way* way : {&each->between_hosts, &each->on_host}) {
        const double more = 2 * way->message_ns;
        way->message_ns += more;
        for (MessageTime& point : way->points) point.ns += more;
      }
    }
    expect(time_of(parts, dearer, kernel_ns), "dearer messages");
    const int worker = static_cast<int>(random.below(test.workers * test.stages));
    const std::map<int, double> straggler = {{worker, random.between(1.1, 4)}};
    expect(time_of(parts, cluster, kernel_ns, straggler), "a slower worker");
    if (sharing == Sharing::Often) continue;  // a late lane may find a core free, too
    Cluster fewer = cluster;
    for (VirtualHost& host : fewer.hosts) host.cores = 1;
    expect(time_of(parts, fewer, kernel_ns), "fewer cores");
    fewer.machine_cores = 1;
    expect(time_of(parts, fewer, kernel_ns), "one core for all");
  }
}

TEST(VirtualTime, MoreBytesAreTriedOnMostKinds) {
  int alike = 0;
  for (VirtualCase test : all_kinds()) {
    test.batch = 64 * test.workers;
    const std::size_t lanes = lanes_of(parts_of(test));
    test.workload = "resnet9";
    if (lanes_of(parts_of(test)) == lanes) ++alike;
  }
  EXPECT_GT(alike, 15);
}

TEST_P(WorseClusters, AreNeverFasterAtRandom) {
  expect_never_faster(GetParam(), Sharing::Never, 1e-9);
}

/// A message that comes later may find a link free that two would have shared until both were late,
/// so that all end sooner. Fair sharing allows it, by less than a fiftieth.
TEST_P(WorseClusters, AreHardlyFasterWhereLinksAreShared) {
  expect_never_faster(GetParam(), Sharing::Often, 0.02);
}

INSTANTIATE_TEST_SUITE_P(All, WorseClusters, testing::ValuesIn(all_kinds()),
                         [](const auto& test) { return testing_support::name_of(test.param); });

}  // namespace
}  // namespace regatta::virtual_time
