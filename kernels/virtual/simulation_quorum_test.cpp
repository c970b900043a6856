// SPDX-License-Identifier: Apache-2.0
//
// Backup workers in virtual time, compared with a count of their pushes that does not use the
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

/// Counts pushes without the simulation. Each worker computes for `step_ns` times a factor and
/// pushes at once; a step takes the first `needed` pushes that began at its version.
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

/// The mean time of a step with `needed` of P workers whose times are exponential with mean 1; a
/// late worker ends its computation before it begins again. A step begins with `needed` fresh
/// workers and `late` others. With g pushes gathered, P - g workers compute, each equally likely to
/// end next: E(g, l) = 1 / (P - g) + (l E(g, l - 1) + (P - g - l) E(g + 1, l)) / (P - g).
double mean_step(std::int64_t needed, std::int64_t late) {
  const std::int64_t workers = needed + late;
  const auto count = static_cast<std::size_t>(late) + 1;
  std::vector<double> behind(count, 0.0);  // E(g + 1, l) by l
  for (std::int64_t g = needed - 1; g >= 0; --g) {
    std::vector<double> mean(count);
    for (std::size_t l = 0; l < count; ++l) {
      const auto running = static_cast<double>(workers - g);
      const auto stale = static_cast<double>(l);
      mean[l] = (1 + (running - stale) * behind[l] + (l > 0 ? stale * mean[l - 1] : 0)) / running;
    }
    behind = mean;
  }
  return behind.back();
}

/// Two million steps agree within a thousandth; the next test uses the same count.
TEST(VirtualForms, StepsOfTheFirstOfExponentialWorkersTakeWhatTheirChainSays) {
  const Cluster cluster{
      .compute_times = {.kind = ComputeTimes::Kind::ShiftedExponential, .spread = 1}};
  EXPECT_NEAR(mean_step(4, 0), 1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4, 1e-12);  // H_4
  EXPECT_NEAR(mean_step(1, 1), 0.5 + 0.5 * 0.5, 1e-12);  // half of the time the late one ends first
  for (const std::int64_t late : {0, 1, 2}) {
    constexpr std::int64_t kSteps = 2'000'000;
    const Pushes counted = pushes_of({.workers = 4, .backups = late}, cluster, 1, kSteps);
    EXPECT_NEAR(counted.end_ns / kSteps / mean_step(4, late), 1, 1e-3) << late;
  }
}

/// The effect in Chen et al. (2016): a step does not wait for the pushes of stragglers.
TEST(VirtualTime, BackupWorkersTakeTheFirstPushes) {
  for (const auto& [servers, times] :
       {std::pair{1, ComputeTimes{.kind = ComputeTimes::Kind::LogNormal, .spread = 0.8}},
        std::pair{2, ComputeTimes{.kind = ComputeTimes::Kind::LogNormal, .spread = 0.8}},
        std::pair{1, ComputeTimes{.kind = ComputeTimes::Kind::ShiftedExponential, .spread = 1}}}) {
    VirtualCase test{.workload = "parabola",
                     .strategy = "parameter_server",
                     .workers = 4,
                     .options = {{"servers", std::int64_t{servers}}},
                     .servers = servers,
                     .backups = 2,
                     .batch = 40};
    Cluster cluster = cluster_of(static_cast<std::size_t>(servers) + 6, kNoLimit, 0);
    cluster.compute_times = times;
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

/// A step behind a quorum also ends if its lookahead is not due.
TEST(VirtualTime, BackupWorkersGoOnWhereTheModelLooksAheadInSomeSteps) {
  const VirtualCase test{.workload = "airbench94",
                         .strategy = "parameter_server",
                         .workers = 2,
                         .servers = 1,
                         .backups = 1,
                         .batch = 256};
  const std::vector<Step> parts = parts_of(test);
  const Program program = make_program(parts, testing_support::costs_of(parts, 1000), 1);
  SimulationOptions options;
  for (int p = 0; p < program.processes; ++p) options.host_of.push_back(p);
  const Cluster cluster = cluster_of(4, kNoLimit, 0);
  Simulation simulation(program, cluster, options);
  constexpr std::int64_t kSteps = 12;
  simulation.advance_to(kSteps * program.global_batch);
  std::int64_t applied = 0;
  for (const auto& [process, worker] : simulation.workers()) {
    if (worker.place.role == Role::Server) applied += worker.updates_applied;
  }
  EXPECT_EQ(applied, kSteps * test.workers);
}

}  // namespace
}  // namespace regatta::virtual_time
