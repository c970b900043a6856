// SPDX-License-Identifier: Apache-2.0
//
// The bubble of a pipeline as it runs, beside the formula of its schedule: the share of a stage's
// computing that the stage waits. Kernels of a chain of equal layers take a millisecond each,
// asleep, so that any number of stages computes at a time, whatever cores there are.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "strategies/chain_for_test.h"
#include "strategies/pipeline_schedule.h"
#include "strategies/test_support.h"

namespace regatta {
namespace {

using testing_support::chain;
using testing_support::data_of;
using testing_support::KernelWatch;
using testing_support::Trial;
using testing_support::TrialOptions;

constexpr std::int64_t kWidth = 32;
constexpr std::int64_t kBatch = 48;
constexpr std::chrono::milliseconds kPass{1};  // of a layer

/// Makes each pass of a layer last.
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

/// The time that stages wait in terms of the time that they compute.
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
  double computed = 0, all = 0;
  for (const WorkerReport& worker : run.executor().workers()) {
    computed += static_cast<double>(worker.compute_ns);
    all += static_cast<double>(worker.total_ns);
  }
  return all / computed - 1;
}

double computed_bubble(const Case& test) {
  const PipelineShape shape{.stages = test.stages,
                            .chunks = test.schedule == kInterleaved ? 2 : 1,
                            .microbatches = test.microbatches};
  return makespan(pipeline_schedule(test.schedule, shape), shape, {}) /
             static_cast<double>(3 * test.microbatches) -
         1;
}

/// The scheduler wakes a stage late now and then, which others wait for.
double most(double expected) { return 1.2 * expected + 0.05; }

TEST(PipelineBubble, IsThatOfTheFormula) {
  std::cout << "schedule stages microbatches measured formula\n";
  for (const std::string_view schedule : kSchedules) {
    for (const std::int64_t stages : {2, 4}) {
      for (const std::int64_t microbatches : {2, 4, 8, 16}) {
        if (schedule == kInterleaved && microbatches % stages != 0) continue;
        const Case test{.schedule = schedule, .stages = stages, .microbatches = microbatches};
        const double expected = computed_bubble(test);
        double measured = measured_bubble(test);
        for (int more = 0; more < 4 && measured > most(expected); ++more) {
          measured = std::min(measured, measured_bubble(test));
        }
        std::cout << schedule << ' ' << stages << ' ' << microbatches << ' ' << measured << ' '
                  << expected << '\n';
        EXPECT_GT(measured, expected - 0.03);
        EXPECT_LT(measured, most(expected));
      }
    }
  }
}

}  // namespace
}  // namespace regatta
