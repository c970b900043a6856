// SPDX-License-Identifier: Apache-2.0
//
// Tests that an executor's reports account for all of its workers' time, each part once.
#include "kernels/runtime/measure/reports.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "kernels/runtime/executor.h"
#include "kernels/runtime/test_support.h"
#include "strategies/equivalence_for_test.h"

namespace regatta {
namespace {

using namespace testing_support;

constexpr double kHandOverNs = 50e6;  // a busy machine may wake a thread this late

TEST(WorkerReports, GiveAStragglerItsFactorOfComputeTime) {
  TrialOptions options = trial_of("all_reduce 2 steps=10");
  options.stragglers[1] = 8;
  Trial run(thin(64, 10), shapes(), options);
  const auto workers = run.executor().workers();
  const double ratio =
      static_cast<double>(workers[1].compute_ns) / static_cast<double>(workers[0].compute_ns);
  EXPECT_GT(ratio, 3);  // 8 on an idle machine; the other worker may be disturbed
  EXPECT_GT(workers[0].wait_ns, workers[0].compute_ns / 2);
}

TEST(WorkerReports, SplitAStepsTimeCompletely) {
  TrialOptions options = trial_of("all_reduce 2 steps=10");
  Trial run(thin(64, 10), shapes(), options);
  for (const WorkerReport& worker : run.executor().workers()) {
    const std::int64_t parts = worker.compute_ns + worker.exposed_communication_ns +
                               worker.wait_ns + worker.input_ns + worker.update_ns;
    EXPECT_NEAR(static_cast<double>(parts), static_cast<double>(worker.total_ns),
                0.02 * static_cast<double>(worker.total_ns));
  }
}

// Covers workers that end their steps early, before the leader has begun the next one.
TEST(WorkerReports, AccountForTheWholeTimeOfEveryWorker) {
  for (const char* strategy : {"model_parallel", "pipeline", "in_graph"}) {
    TrialOptions options;
    options.strategy = strategy;
    options.options.replicas = 2;
    options.options.stages = 2;
    options.steps = 12;
    options.stragglers[0] = 3;
    Trial run(thin(64, 12), shapes(), options);
    const auto workers = run.executor().workers();
    EXPECT_NEAR(static_cast<double>(workers[1].total_ns), static_cast<double>(workers[0].total_ns),
                0.1 * static_cast<double>(workers[0].total_ns) + kHandOverNs)
        << strategy;
  }
}

/// Time between two pieces of a run, such as an evaluation, is no bubble.
TEST(WorkerReports, HaveNoBubbleBetweenThePiecesOfARun) {
  for (const char* strategy : {"model_parallel", "pipeline", "tensor_parallel"}) {
    TrialOptions options;
    options.strategy = strategy;
    options.options.stages = options.options.shards = 2;
    options.steps = 4;
    options.most_steps = 8;
    Trial run(thin(64, 8), shapes(), options);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    run.executor().run(8 * 64);
    for (const WorkerReport& worker : run.executor().workers()) {
      EXPECT_GE(worker.bubble_ns, 0) << strategy;
      EXPECT_LE(worker.bubble_ns, worker.wait_ns) << strategy;
    }
  }
}

}  // namespace
}  // namespace regatta
