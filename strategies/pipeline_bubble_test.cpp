// SPDX-License-Identifier: Apache-2.0
//
// The measured bubble of a pipeline, compared with the formula of its schedule: the time that
// stages wait, relative to their computing. Kernels of a chain of equal layers take a millisecond
// each, asleep, so that any number of stages computes at a time on any number of cores.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/runtime/measure/others_watch_for_test.h"
#include "strategies/chain_for_test.h"
#include "strategies/pipeline_schedule.h"
#include "strategies/test_support.h"

namespace regatta::strategies {
namespace {

using namespace testing_support;

constexpr std::int64_t kWidth = 32;
constexpr std::int64_t kBatch = 48;
constexpr std::chrono::milliseconds kPass{1};  // a layer's pass
constexpr double kOthers = 0.05;               // share of the cores; above it others disturb a
                                               // round

/// Makes each pass of a layer take kPass.
class Lasting final : public KernelWatch {
 public:
  void attach(KernelTable& table) override {
    for (const Op op : {Op::Dense, Op::DenseBackwardData, Op::DenseBackwardWeights}) {
      table.add(op, [make = table.factory(op)](const KernelRequest& request) {
        std::unique_ptr<Kernel> kernel = make(request);
        if (request.node.layer.rfind("layer", 0) != 0) return kernel;
        return make_kernel([inner = std::shared_ptr(std::move(kernel))](const StepContext& step) {
          const auto end = std::chrono::steady_clock::now() + kPass;
          inner->run(step);
          std::this_thread::sleep_until(end);
        });
      });
    }
  }
};

struct Case {
  std::string_view schedule;
  std::int64_t stages;
  std::int64_t microbatches;
};

/// The time that stages wait for others, relative to the time that they compute.
double measured_bubble(const Case& test) {
  Lasting watch;
  TrialOptions options;
  options.strategy = "pipeline";
  options.options.stages = test.stages;
  options.options.given = {{"schedule", std::string(test.schedule)},
                           {"microbatches", test.microbatches}};
  options.steps = 3;
  options.watch = &watch;
  Trial run(chain(kWidth, kBatch), data_of("parabola"), options);
  double computed = 0, waited = 0;
  for (const WorkerReport& worker : run.executor().workers()) {
    computed += static_cast<double>(worker.compute_ns);
    waited += static_cast<double>(worker.bubble_ns);
    EXPECT_LE(worker.bubble_ns, worker.wait_ns);
    EXPECT_LE(worker.wait_ns, worker.total_ns - worker.compute_ns);
  }
  return waited / computed;
}

double computed_bubble(const Case& test) {
  const PipelineShape shape{.stages = test.stages,
                            .chunks = test.schedule == kInterleaved ? 2 : 1,
                            .microbatches = test.microbatches};
  return makespan(pipeline_schedule(test.schedule, shape), shape, {}) /
             static_cast<double>(3 * test.microbatches) -
         1;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string_view schedule : kSchedules) {
    for (const std::int64_t stages : {2, 4}) {
      for (const std::int64_t microbatches : {2, 4, 8, 16}) {
        if (schedule == kInterleaved && microbatches % stages != 0) continue;
        all.push_back({.schedule = schedule, .stages = stages, .microbatches = microbatches});
      }
    }
  }
  return all;
}

/// The scheduler sometimes wakes a stage late: then others wait for it, or it would have waited
/// anyway and the delay counts as computing.
bool near(double measured, double expected) {
  return measured > expected - 0.03 && measured < 1.2 * expected + 0.05;
}

/// One round that agrees suffices. If none agrees, the test fails if others left the cores alone in
/// half of the rounds.
TEST(PipelineBubble, IsThatOfTheFormula) {
  constexpr int kRounds = 5;
  int disturbed = 0;
  std::cout << "schedule stages microbatches measured formula\n";
  for (const Case& test : cases()) {
    const double expected = computed_bubble(test);
    double measured = 0;
    int quiet = 0;
    bool found = false;
    for (int round = 0; round < kRounds && !found; ++round) {
      const OthersWatch others(available_cores());
      measured = measured_bubble(test);
      found = near(measured, expected);
      quiet += others.share() <= kOthers ? 1 : 0;
    }
    std::cout << test.schedule << ' ' << test.stages << ' ' << test.microbatches << ' ' << measured
              << ' ' << expected << '\n';
    if (!found && 2 * quiet < kRounds) {
      ++disturbed;
      continue;
    }
    EXPECT_PRED2(near, measured, expected);
  }
  if (disturbed > 0) {
    GTEST_SKIP() << "others used more than " << 100 * kOthers << " % of the cores beside "
                 << disturbed << " cases, which were not as computed";
  }
}

}  // namespace
}  // namespace regatta::strategies
