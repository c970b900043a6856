// SPDX-License-Identifier: Apache-2.0
//
// Tests that the mean step time with backup workers is that of a Markov chain.
#include <gtest/gtest.h>

#include "kernels/virtual/simulation_for_test.h"

namespace regatta::virtual_time {
namespace {

using testing_support::cluster_of;
using testing_support::parts_of;
using testing_support::VirtualCase;

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

/// Reproduces the effect in Chen et al. (2016): a step does not wait for the pushes of stragglers.
/// The standard deviation of a step is below 0.6 of its mean, so the mean of 20,000 steps varies by
/// 0.4 %; the bound is five times that.
TEST(VirtualTime, BackupWorkersTakeTheFirstPushes) {
  EXPECT_NEAR(mean_step(4, 0), 1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4, 1e-12);  // H_4
  EXPECT_NEAR(mean_step(1, 1), 0.5 + 0.5 * 0.5, 1e-12);  // half of the time the late one ends first
  for (const auto& [servers, backups] : {std::pair{1, 1}, std::pair{1, 2}, std::pair{2, 2}}) {
    const VirtualCase test{.workload = "parabola",
                           .strategy = "parameter_server",
                           .workers = 4,
                           .options = {{"servers", std::int64_t{servers}}},
                           .servers = servers,
                           .backups = backups,
                           .batch = 40};
    Cluster cluster = cluster_of(static_cast<std::size_t>(servers + 4 + backups), kNoLimit, 0);
    cluster.compute_times = {.kind = ComputeTimes::Kind::ShiftedExponential, .spread = 1};
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
    constexpr std::int64_t kSteps = 20'000;
    simulation.advance_to(kSteps * program.global_batch);
    EXPECT_NEAR(simulation.now() / step_ns / kSteps / mean_step(4, backups), 1, 0.02) << backups;
    std::int64_t applied = 0;
    for (const auto& [process, worker] : simulation.workers()) {
      if (worker.place.role != Role::Server || worker.place.stage != 0) continue;
      applied += worker.updates_applied;
      EXPECT_GT(worker.updates_dropped, 0) << backups;
    }
    EXPECT_EQ(applied, kSteps * test.workers) << backups;
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
