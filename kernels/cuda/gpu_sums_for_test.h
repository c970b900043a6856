// SPDX-License-Identifier: Apache-2.0
//
// For tests of collectives on a GPU: a run in which the GPU or the host computes sums and shares.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/device/emulated_for_test.h"
#include "strategies/test_support.h"

namespace regatta::testing_support {

inline constexpr std::int64_t kSteps = 12;
inline constexpr std::int64_t kBatch = 49;  // uneven shares for 2, 3 and 5 replicas

enum class SumBy { Host, Gpu };

/// A run of the parabola, and the side that computes its sums.
struct SummedRun {
  std::string strategy = "all_reduce";
  std::string algorithm = "ring";
  OptionValues given = {};
  std::int64_t replicas = 3;
  std::int64_t inline_bytes = 0;  ///< 0: sums run in lanes of their own
  std::int64_t bucket_bytes = 0;  ///< 0: one sum for each parameter
  SumBy sum = SumBy::Gpu;
  LaunchSteps launch = LaunchSteps::ByKernel;
  std::function<Step(const Step&)> change = {};           ///< applied to the placed step
  std::function<void(KernelTable&)> change_kernels = {};  ///< applied to the kernels
};

class SummedTraining {
 public:
  SummedTraining(Device& device, const SummedRun& options) {
    add_cuda_kernels(kernels_);
    if (options.change_kernels) options.change_kernels(kernels_);
    for (const Op op : {Op::AllReduce, Op::ReduceScatter, Op::AllGather}) {
      if (options.sum == SumBy::Host) kernels_.add(op, {});
    }
    transport_.add_kernels(kernels_);
    TrialOptions run;
    run.options.replicas = options.replicas;
    run.options.given = options.given;
    run.options.given["all_reduce"] = options.algorithm;
    run.options.given["bucket_bytes"] = options.bucket_bytes;
    run.plan.inline_bytes = options.inline_bytes;
    const Step step = training_of("parabola", kBatch, kSteps);
    Step placed =
        strategies::apply(strategies::find_strategies(options.strategy), step, run.options);
    if (options.change) placed = options.change(placed);
    part_ = strategies::partitioned(placed, Binding{}).front();
    ExecutorOptions executor_options =
        testing_support::executor_options(data_of("parabola"), run, kSteps * kBatch);
    executor_options.launch = options.launch;
    executor_ =
        std::make_unique<Executor>(part_, PlacedDevices(kernels_, device), executor_options);
    executor_->prepare();
  }
  SummedTraining& run() {
    executor_->run(kSteps * kBatch);
    return *this;
  }
  Executor& executor() { return *executor_; }
  std::vector<float> losses() const { return executor_->loops().at(0).losses; }
  Parameters parameters() {
    Parameters all;
    testing_support::add_parameters(*executor_, all);
    return all;
  }
  const comm::InProcessTransport& transport() const { return transport_; }

 private:
  KernelTable kernels_{"cuda"};
  comm::InProcessTransport transport_;
  Step part_;
  std::unique_ptr<Executor> executor_;
};

inline void expect_same_bits(SummedTraining& run, SummedTraining& by_host) {
  EXPECT_EQ(run.losses(), by_host.losses());
  EXPECT_EQ(run.parameters(), by_host.parameters());
}

}  // namespace regatta::testing_support
