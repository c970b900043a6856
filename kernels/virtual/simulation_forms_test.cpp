// SPDX-License-Identifier: Apache-2.0
//
// Virtual time against formulas from the literature, within a thousandth: ring, star, asynchronous
// server, order statistics. simulation_quorum_test.cpp has K of P workers with a server.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "kernels/virtual/simulation.h"
#include "kernels/virtual/simulation_for_test.h"

namespace regatta::virtual_time {
namespace {

using testing_support::cluster_of;
using testing_support::kKernelNs;
using testing_support::parts_of;
using testing_support::Simulated;
using testing_support::VirtualCase;

std::int64_t parameter_bytes(const std::vector<Step>& parts) {
  std::int64_t bytes = 0;
  for (const Variable& variable : parts.back().graph.variables()) {
    if (variable.kind == VariableKind::Parameter) bytes += variable.type.bytes();
  }
  return bytes;
}

/// The compute time of all lanes of the last process.
double compute_ns(const Simulated& run) {
  double ns = 0;
  for (const ProgramLane& lane : run.program.lanes) {
    if (lane.process != run.program.processes - 1) continue;
    for (const LaneInstruction& each : lane.instructions) ns += each.ns;
  }
  return ns;
}

/// A ring of one bucket, whose messages cost 3 us each and travel at 1.25 GB/s.
struct Ring {
  Ring(std::int64_t n, double latency_ns) {
    Cluster cluster = cluster_of(static_cast<std::size_t>(n), 1.25, latency_ns);
    cluster.transports.open_mpi.adding_bytes_per_ns = 4;
    cluster.transports.open_mpi.between_hosts.message_ns = 3'000;
    const Simulated run({.workers = n, .options = {{"bucket_bytes", std::int64_t{1} << 30}}}, 3,
                        cluster);
    ns = run.ns_of_step() - compute_ns(run);
    steps = 2 * (static_cast<double>(n) - 1);
    bytes = static_cast<double>(parameter_bytes(run.parts)) / static_cast<double>(n);
    message_ns = 3'000 + bytes / 1.25;
  }
  double ns = 0;
  double steps = 0;
  double bytes = 0;  ///< per message
  double message_ns = 0;
};

constexpr double kChunkBytes = 63 << 10;

/// 2 (n - 1) (latency + cost + M / (n rate)) + (n - 1) M / (n adding), if a message is one chunk.
TEST(VirtualTime, ARingTakesWhatItsFormulaSays) {
  for (const std::int64_t n : {32, 48, 64}) {
    const Ring ring(n, 25'000);
    ASSERT_LT(ring.bytes, kChunkBytes);
    const double formula =
        ring.steps * (25'000 + ring.message_ns) + ring.steps / 2 * ring.bytes / 4;
    EXPECT_NEAR(ring.ns / formula, 1, 1e-3) << n;
  }
}

/// A member that forwards chunks as they come keeps its link busy: 2 (n - 1) (cost + M / (n rate))
/// + latency.
TEST(VirtualTime, ARingOfLongMessagesPaysOneLatency) {
  for (const std::int64_t n : {2, 3, 6}) {
    const Ring ring(n, 25'000);
    ASSERT_GT(ring.bytes, kChunkBytes);
    EXPECT_NEAR(ring.ns / (ring.steps * ring.message_ns + 25'000), 1, 1e-3) << n;
  }
}

/// If the latency exceeds a message's time, each step but the last takes the time of a chunk and
/// the latency; half of the steps add the chunk up.
TEST(VirtualTime, ARingOfLongWaysPaysALatencyAStep) {
  for (const std::int64_t n : {2, 3, 8}) {
    const Ring ring(n, 1e6);
    const double chunk_ns = 3'000 + kChunkBytes / 1.25;
    const double formula = (ring.steps - 1) * (chunk_ns + 1e6) + ring.steps / 2 * kChunkBytes / 4 +
                           ring.message_ns + 1e6;
    EXPECT_NEAR(ring.ns / formula, 1, 1e-3) << n;
  }
}

/// Two members: a reduction and a broadcast, each after a round trip, 2 (cost + 3 latency + M /
/// rate). With more members, a root's messages share its link.
TEST(VirtualTime, OpenMpisOwnSumsGoToOneMemberAndBack) {
  Cluster cluster = cluster_of(2, 1.25, 25'000);
  cluster.transports.open_mpi.between_hosts.message_ns = 1e9;  // of other messages
  cluster.transports.open_mpi_sums.between_hosts.message_ns = 200'000;
  const OptionValues options = {{"all_reduce", "mpi"}, {"bucket_bytes", std::int64_t{1} << 30}};
  const Simulated run({.options = options}, 3, cluster);
  const double sums = 2 * (275'000 + static_cast<double>(parameter_bytes(run.parts)) / 1.25);
  EXPECT_NEAR(run.ns_of_step() / (compute_ns(run) + sums), 1, 1e-3);
}

/// All bytes that n workers push and pull pass through the server's link: 2 n M / rate.
TEST(VirtualTime, AServersLinkCarriesEveryWorkersBytes) {
  for (const std::int64_t n : {2, 5, 16}) {
    const Cluster cluster = cluster_of(static_cast<std::size_t>(n) + 1, 0.125, 0);
    const Simulated run({.strategy = "parameter_server", .workers = n, .servers = 1}, 3, cluster,
                        0);
    const auto bytes = static_cast<double>(parameter_bytes({run.parts.front()}));
    EXPECT_NEAR(run.ns_of_step() / (2 * static_cast<double>(n) * bytes / 0.125), 1, 1e-3) << n;
  }
}

/// min(N / (Z + S), 1 / S) for N workers: a worker is away for Z, and the server takes S for each
/// worker; the knee is at N* = (Z + S) / S.
TEST(VirtualTime, AnAsynchronousServerIsFullFromItsKneeOn) {
  for (const double server_kernel_ns : {500, 1000, 4000}) {
    double knee = 0;
    std::map<std::int64_t, double> rates;
    for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 8, 12, 16, 64}) {
      Cluster cluster = cluster_of(static_cast<std::size_t>(n) + 1, kNoLimit, 0);
      cluster.server_cores = 1;
      const VirtualCase test{
          .workload = "parabola", .strategy = "parameter_server_async", .workers = n, .servers = 1};
      const std::vector<Step> parts = parts_of(test);
      KernelCosts costs = testing_support::costs_of(parts, kKernelNs);
      for (auto& [key, ns] : costs) {
        if (key.starts_with("sgd ") || key.starts_with("read ")) ns = server_kernel_ns;
      }
      const Program program = make_program(parts, costs, 1);
      double server = 0;
      double worker = 0;
      for (const ProgramLane& lane : program.lanes) {
        double& sum = lane.place.role == Role::Server ? server : worker;
        if (lane.place.replica != 0) continue;
        for (const LaneInstruction& each : lane.instructions) {
          if (each.category != Category::Input) sum += each.ns;  // overlaps the server's update
        }
      }
      SimulationOptions options;
      for (int p = 0; p < program.processes; ++p) options.host_of.push_back(p);
      Simulation simulation(program, cluster, options);
      const std::int64_t steps = 5000;
      simulation.advance_to(steps * program.global_batch);
      const auto workers = static_cast<double>(n);
      knee = (worker + server) / server;
      rates[n] = static_cast<double>(steps) * workers / simulation.now();
      const double rate = std::min(workers / (worker + server), 1 / server);
      EXPECT_NEAR(rates[n] / rate, 1, 1e-3) << n << " workers, " << server_kernel_ns << " ns";
    }
    EXPECT_NEAR(rates.at(64) / rates.at(1) / knee, 1, 1e-3) << server_kernel_ns;
  }
}

/// Two workers that pull at the same time share the server's link, each in 2 T, and push over links
/// of their own in T. The queue at the full link delays the later one further (compute times of
/// some microseconds decide which that is), until one pushes while the other pulls: T + T.
TEST(VirtualTime, AsynchronousWorkersDriftApartByWhatWaitsInFrontOfAFullLink) {
  for (const double queue_bytes : {0, 20'000}) {
    Cluster cluster = cluster_of(3, 0.125, 0);
    for (VirtualHost& host : cluster.hosts) host.in_bytes_per_ns = kNoLimit;
    cluster.queue_bytes = queue_bytes;
    cluster.compute_times = {.kind = ComputeTimes::Kind::Gamma, .spread = 0.1};
    const Simulated run({.strategy = "parameter_server_async", .workers = 2, .servers = 1}, 400,
                        cluster, 50);
    const double alone = static_cast<double>(parameter_bytes({run.parts.front()})) / 0.125;
    EXPECT_NEAR(run.ns_of_step() / alone, queue_bytes == 0 ? 3 : 2, 0.01) << queue_bytes;
  }
}

/// A step takes as long as its slowest worker; with the same draws, exactly.
TEST(VirtualTime, AStepWaitsForTheLastOfItsWorkers) {
  constexpr std::int64_t n = 8;
  constexpr std::int64_t kSteps = 500;
  Cluster cluster = cluster_of(n, kNoLimit, 0);
  cluster.compute_times = {.kind = ComputeTimes::Kind::ShiftedExponential, .spread = 0.5};
  const Simulated run({.workload = "parabola", .workers = n}, kSteps, cluster, kKernelNs);
  double delayed = 0;  // the time that a factor multiplies
  double others = 0;
  for (const ProgramLane& lane : run.program.lanes) {
    if (lane.process != 0) continue;
    for (const LaneInstruction& each : lane.instructions) {
      (each.category == Category::Compute ? delayed : others) += each.ns;
    }
  }
  double expected = 0;
  for (std::uint32_t k = 0; k < kSteps; ++k) {
    double slowest = 0;
    for (std::uint32_t w = 0; w < n; ++w) {
      slowest = std::max(slowest, compute_factor(cluster.compute_times, cluster.seed, w, k));
    }
    expected += delayed * slowest + others;
  }
  EXPECT_NEAR(run.simulation->now() / expected, 1, 1e-9);
}

/// E[the K-th of P] = shift + (H_P - H_{P-K}) / mu for exponential times. Source: Renyi, "On the
/// theory of order statistics", 1953.
TEST(VirtualForms, TheFirstWorkersOfASetTakeWhatTheirOrderStatisticSays) {
  constexpr std::uint32_t kWorkers = 8;
  constexpr std::uint32_t kSteps = 1'000'000;
  const ComputeTimes times{.kind = ComputeTimes::Kind::ShiftedExponential, .spread = 0.5};
  std::array<double, kWorkers> sums{};
  for (std::uint32_t k = 0; k < kSteps; ++k) {
    std::array<double, kWorkers> factors{};
    for (std::uint32_t w = 0; w < kWorkers; ++w) factors[w] = compute_factor(times, 1, w, k);
    std::sort(factors.begin(), factors.end());
    for (std::uint32_t i = 0; i < kWorkers; ++i) sums[i] += factors[i];
  }
  double harmonic = 0;  // H_P - H_{P-K}
  for (std::uint32_t i = 0; i < kWorkers; ++i) {
    harmonic += 1.0 / (kWorkers - i);
    const double expected = 1 - times.spread + times.spread * harmonic;
    EXPECT_NEAR(sums[i] / kSteps / expected, 1, 1e-3) << i + 1 << " of " << kWorkers;
  }
}

}  // namespace
}  // namespace regatta::virtual_time
