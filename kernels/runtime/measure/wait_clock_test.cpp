// SPDX-License-Identifier: Apache-2.0
//
// Tests the wait clock by hand, and the split of a step's time that lanes compute with it, with
// kernels that sleep for known times.
#include "kernels/runtime/measure/wait_clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "kernels/graph/builder.h"
#include "kernels/runtime/executor.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta {
namespace {

TEST(WaitClock, CountsWaitsAlsoWhileOneLasts) {
  WaitClock clock;
  EXPECT_EQ(clock.until(1000), 0U);
  clock.begin(1000);
  EXPECT_NEAR(static_cast<double>(clock.until(1500)), 500, 2);
  clock.end(1600);
  EXPECT_NEAR(static_cast<double>(clock.until(5000)), 600, 2);
  clock.begin(7001);
  clock.end(7101);
  EXPECT_NEAR(static_cast<double>(clock.until(9000)), 700, 4);
}

/// How long kernels of an op sleep, and for how much of it they report waiting for others.
struct Sleep {
  int ms = 0;
  int waiting_ms = 0;
};

KernelFactory sleeping(const Sleep& sleep) {
  return [sleep](const KernelRequest&) {
    return make_kernel([sleep](const StepContext& context) {
      if (sleep.waiting_ms > 0) context.counters->peer_waits.begin(ticks());
      std::this_thread::sleep_for(std::chrono::milliseconds(sleep.waiting_ms));
      if (sleep.waiting_ms > 0) context.counters->peer_waits.end(ticks());
      std::this_thread::sleep_for(std::chrono::milliseconds(sleep.ms));
    });
  };
}

/// Two replicas: tanh, an all_reduce in the communication lane, and a reader of its sum.
Step two_replicas() {
  Step step;
  step.global_batch = 8;
  for (int r = 0; r < 2; ++r) {
    Builder builder(step.graph);
    builder.at({.replica = r}).layer("layer");
    const auto data =
        builder.input_features({.batch = 4, .offset = 4 * r, .global_batch = 8}, 6, 1);
    builder.relu(builder.all_reduce(builder.tanh(data[0]),
                                    {.group = 0, .member = r, .members = 2, .algorithm = "ring"}));
  }
  return step;
}

TEST(WaitClock, TellsExposedCommunicationFromWaitingForOthers) {
  constexpr int kSteps = 3;
  KernelTable kernels("test");
  kernels.add(Op::Input, sleeping({}));
  kernels.add(Op::Tanh, sleeping({.ms = 100}));
  kernels.add(Op::AllReduce, sleeping({.ms = 10, .waiting_ms = 5}));
  kernels.add(Op::Relu, sleeping({}));
  ExecutorOptions options;
  options.max_examples = kSteps * 8;
  options.plan.inline_bytes = 0;
  Executor executor(two_replicas(), kernels, options);
  executor.run(options.max_examples);
  for (const WorkerReport& worker : executor.workers()) {
    EXPECT_GT(worker.compute_ns, kSteps * 100'000'000);
    // The 100 ms that the message waited for its own worker's gradient do not count as waiting.
    EXPECT_GT(worker.exposed_communication_ns, kSteps * 9'000'000);
    EXPECT_GT(worker.wait_ns, kSteps * 4'000'000);
    EXPECT_LT(worker.wait_ns, kSteps * 100'000'000);
  }
}

}  // namespace
}  // namespace regatta
