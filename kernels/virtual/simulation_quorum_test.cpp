// SPDX-License-Identifier: Apache-2.0
//
// Backup workers in virtual time, held against a count of their pushes that is written without the
// simulation.
#include <gtest/gtest.h>

#include "kernels/virtual/simulation_for_test.h"

namespace regatta::virtual_time {
namespace {

using testing_support::cluster_of;
using testing_support::parts_of;
using testing_support::VirtualCase;

struct Pushes {
  double end_ns = 0;
  std::vector<std::int64_t> applied;
  std::vector<std::int64_t> dropped;
};

/// Workers who compute for `step_ns` times a factor and push at once, written without the
/// simulation: a step takes the first `needed` pushes from its own version.
Pushes pushes_of(const VirtualCase& test, const Cluster& cluster, double step_ns,
                 std::int64_t steps) {
  struct Member {
    double done = 0;
    std::uint32_t step = 0;
    std::int64_t began = 0;
    bool waits = false;
  };
  const auto count = static_cast<std::size_t>(test.workers + test.backups);
  std::vector<Member> members(count);
  Pushes pushes{.applied = std::vector<std::int64_t>(count),
                .dropped = std::vector<std::int64_t>(count)};
  std::int64_t version = 0, gathered = 0;
  const auto begin = [&](std::size_t m, double now) {
    Member& own = members[m];
    own.waits = version == steps;
    if (own.waits) return;
    own.began = version;
    own.done = now + step_ns * compute_factor(cluster.compute_times, cluster.seed,
                                              static_cast<std::uint32_t>(m), own.step++);
  };
  for (std::size_t m = 0; m < count; ++m) begin(m, 0);
  for (;;) {
    std::size_t first = count;
    for (std::size_t m = 0; m < count; ++m) {
      if (!members[m].waits && (first == count || members[m].done < members[first].done)) first = m;
    }
    if (first == count) return pushes;
    const double now = pushes.end_ns = members[first].done;
    if (members[first].began != version) {
      ++pushes.dropped[first];
      begin(first, now);
      continue;
    }
    ++pushes.applied[first];
    members[first].waits = true;
    if (++gathered < test.workers) continue;
    gathered = 0;
    ++version;
    for (std::size_t m = 0; m < count; ++m) {
      if (members[m].waits) begin(m, now);
    }
  }
}

/// What Chen et al. (2016) count on: a step does not wait for the pushes of stragglers.
TEST(VirtualTime, BackupWorkersTakeTheFirstPushes) {
  for (const int servers : {1, 2}) {
    VirtualCase test{.workload = "parabola",
                     .strategy = "parameter_server",
                     .workers = 4,
                     .options = {{"servers", std::int64_t{servers}}},
                     .servers = servers,
                     .backups = 2,
                     .batch = 40};
    Cluster cluster = cluster_of(static_cast<std::size_t>(servers) + 6, kNoLimit, 0);
    cluster.compute_times = {.kind = ComputeTimes::Kind::LogNormal, .spread = 0.8};
    const std::vector<Step> parts = parts_of(test);
    KernelCosts costs = testing_support::costs_of(parts, 0);
    for (auto& [key, ns] : costs) {
      if (key.starts_with("dense ")) ns = 1e6;
    }
    const Program program = make_program(parts, costs, 1);
    double step_ns = 0;
    for (const ProgramLane& lane : program.lanes) {
      if (lane.place != Place{.replica = 0}) continue;
      for (const LaneInstruction& each : lane.instructions) step_ns += each.ns;
    }
    SimulationOptions options;
    for (int p = 0; p < program.processes; ++p) options.host_of.push_back(p);
    Simulation simulation(program, cluster, options);
    constexpr std::int64_t kSteps = 200;
    simulation.advance_to(kSteps * program.global_batch);
    const Pushes expected = pushes_of(test, cluster, step_ns, kSteps);
    EXPECT_NEAR(simulation.now() / expected.end_ns, 1, 1e-9) << servers;
    std::int64_t dropped = 0;
    for (const auto& [process, worker] : simulation.workers()) {
      if (worker.place.role != Role::Server || worker.place.stage != 0) continue;
      const auto member = static_cast<std::size_t>(worker.place.replica);
      EXPECT_EQ(worker.updates_applied, expected.applied[member]) << servers << ", " << member;
      EXPECT_EQ(worker.updates_dropped, expected.dropped[member]) << servers << ", " << member;
      dropped += worker.updates_dropped;
    }
    EXPECT_GT(dropped, kSteps) << "of two backups";
  }
}

}  // namespace
}  // namespace regatta::virtual_time
