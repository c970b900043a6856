// SPDX-License-Identifier: Apache-2.0
//
// ad_psgd: averages with peers keep the mean and bring replicas together, whichever loops take the
// steps; gradients move them, and the averages that a gradient has missed are counted.
// kernels/cpu/shared_update_test.cpp tests averages and updates by several threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "strategies/apart_for_test.h"
#include "strategies/test_support.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;

constexpr std::int64_t kMost = 20'000;

TrialOptions options_of(std::int64_t replicas, std::int64_t steps) {
  TrialOptions run;
  run.strategy = "ad_psgd";
  run.options.replicas = replicas;
  run.steps = steps;
  run.most_steps = kMost;
  return run;
}

TEST(AdPsgd, ComesToTheMeanWithoutGradients) {
  for (const std::int64_t n : {2, 3, 5}) {
    Trial trial(resting_training(kMost), data_of("parabola"), options_of(n, 0));
    begin_apart(trial, "hidden.weight",
                [](std::int64_t r, std::int64_t) { return static_cast<float>(r * r); });
    double mean = 0;
    for (std::int64_t r = 0; r < n; ++r) mean += static_cast<double>(r * r) / double(n);
    const auto distance = [&] {
      double most = 0;
      for (const auto& values : by_replica(trial, "hidden.weight")) {
        for (const float value : values) most = std::max(most, std::abs(value - mean));
      }
      return most;
    };
    // In many runs, because one loop may take all steps of a run. None of them changes the mean.
    for (std::int64_t steps = 4; steps <= kMost && distance() > 1e-4 * mean; steps += 4) {
      trial.executor().run(steps * 50);
    }
    EXPECT_LE(distance(), 1e-4 * mean) << n;
    EXPECT_EQ(trial.executor().lost_updates(), 0U);
  }
}

/// Replica 0 averages once a step with replica 1. An update of replica 1 misses more than one of
/// these averages, because its step takes several times as long.
TEST(AdPsgd, CountsAveragesAtBothEndsAndThoseThatAGradientMisses) {
  TrialOptions run = options_of(2, 20);
  run.stragglers = {{1, 4.0}};
  Trial trial(training_of("resnet9_thin", 32, 20), data_of("resnet9_thin"), run);
  std::uint64_t updates = 0, averages = 0, steps = 0, active = 0;
  for (const WorkerReport& worker : trial.executor().workers()) {
    updates = std::accumulate(worker.staleness.begin(), worker.staleness.end(), updates);
  }
  for (const LoopReport& loop : trial.executor().loops()) {
    steps += static_cast<std::uint64_t>(loop.steps);
    if (active == 0) active = static_cast<std::uint64_t>(loop.steps);
  }
  std::uint64_t averaged = 0;
  for (VariableId v = 0; v < static_cast<VariableId>(trial.graph().variables().size()); ++v) {
    if (trial.graph().variable(v).judged != Judged::Mean) continue;
    averages += trial.executor().variable(v).counts->averages;
    ++averaged;
  }
  EXPECT_EQ(updates, steps * averaged / 2);
  EXPECT_EQ(averages, 2 * active * averaged / 2);
  const std::vector<WorkerReport> workers = trial.executor().workers();
  ASSERT_EQ(workers.size(), 2U);
  EXPECT_EQ(mean_staleness({workers[0]}), 0);
  EXPECT_GT(mean_staleness({workers[1]}), 0.2);
}

TEST(AdPsgd, LearnsTheParabola) {
  TrialOptions run = options_of(3, 2000);
  run.most_steps = 2000;
  Trial trial(training_of("parabola", 50, run.steps), data_of("parabola"), run);
  std::int64_t steps = 0;
  float before = 0;  // of an early loop; later ones may begin with learnt parameters
  const LoopReport* busiest = nullptr;
  const std::vector<LoopReport> loops = trial.executor().loops();
  ASSERT_EQ(loops.size(), 3U);
  for (const LoopReport& loop : loops) {
    steps += loop.steps;
    if (!loop.losses.empty()) before = std::max(before, loop.losses.front());
    if (busiest == nullptr || loop.steps > busiest->steps) busiest = &loop;
  }
  EXPECT_GE(steps, 2000 * 50 / 17);
  EXPECT_LT(busiest->losses.back(), before / 10);
}

TEST(AdPsgd, OfOneWorkerIsSingle) {
  TrialOptions run;
  Trial single(training_of("parabola", 50, kMost), data_of("parabola"), run);
  run.strategy = "ad_psgd";
  Trial alone(training_of("parabola", 50, kMost), data_of("parabola"), run);
  EXPECT_EQ(alone.losses(), single.losses());
  EXPECT_EQ(alone.parameters(), single.parameters());
}

}  // namespace
}  // namespace regatta::strategies
