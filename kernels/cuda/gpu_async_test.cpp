// SPDX-License-Identifier: Apache-2.0
//
// async_shared and ad_psgd with all replicas on one GPU: an emulated one, everywhere, and a real
// one if there is one; each replica has a queue of its own, and launches its steps kernel by kernel
// or as one graph.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernels/cuda/device/on_devices_for_test.h"
#include "strategies/test_support.h"

namespace regatta {
namespace {

using cuda::testing_support::On;
using testing_support::add_parameters;
using testing_support::data_of;
using testing_support::mean_staleness;
using testing_support::Parameters;
using testing_support::relative_difference;
using testing_support::training_of;
using testing_support::Trial;
using testing_support::TrialOptions;

struct Setup {
  On on = On::Emulated;
  Sharing sharing = Sharing::Relaxed;
  LaunchSteps launch = LaunchSteps::ByKernel;
};

std::vector<Setup> setups() {
  std::vector<Setup> all;
  for (const On on : {On::Emulated, On::Gpu}) {
    for (const Sharing sharing : {Sharing::Relaxed, Sharing::Locked}) {
      for (const LaunchSteps launch : {LaunchSteps::ByKernel, LaunchSteps::AsOne}) {
        all.push_back({on, sharing, launch});
      }
    }
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<Setup>& info) {
  return std::string(to_string(info.param.sharing)) +
         (info.param.launch == LaunchSteps::AsOne ? "_captured" : "") +
         (info.param.on == On::Gpu ? "_gpu" : "_emulated");
}

class AsyncOnGpu : public testing::TestWithParam<Setup> {
 protected:
  void SetUp() override { cuda::testing_support::make_device(GetParam().on, device_); }

  /// Builds an executor and runs it.
  std::unique_ptr<Executor> run(const Step& step, TrialOptions options) {
    if (options.strategy == "async_shared") {
      const bool locks = GetParam().sharing == Sharing::Locked;
      options.options.given["sharing"] = locks ? "locked" : "relaxed";
    }
    KernelTable kernels("cuda");
    add_cuda_kernels(kernels);
    transport_.add_kernels(kernels);
    const Step placed =
        strategies::apply(strategies::find_strategies(options.strategy), step, options.options);
    const std::int64_t examples = options.steps * step.global_batch;
    ExecutorOptions executor_options =
        testing_support::executor_options(data_of("parabola"), options, examples);
    executor_options.launch = GetParam().launch;
    auto executor = std::make_unique<Executor>(strategies::partitioned(placed, Binding{}).front(),
                                               PlacedDevices(kernels, *device_), executor_options);
    executor->prepare();
    executor->run(examples);
    return executor;
  }

  std::unique_ptr<Device> device_;
  comm::InProcessTransport transport_;
};

TEST_P(AsyncOnGpu, OfOneReplicaFollowsSingleOnTheCpu) {
  const Step step = training_of("parabola", 49, 20);
  TrialOptions options;
  options.steps = 20;
  Trial expected(step, data_of("parabola"), options);
  options.strategy = "async_shared";
  options.options.replicas = 1;
  const auto executor = run(step, options);
  const std::vector<float> losses = executor->loops().at(0).losses, wanted = expected.losses();
  ASSERT_EQ(losses.size(), 20U);
  const double bound = cuda::testing_support::bound_of_small_sums(GetParam().on);
  for (std::size_t k = 0; k < losses.size(); ++k) {
    EXPECT_NEAR(losses[k], wanted[k], bound * std::abs(wanted[k])) << "step " << k;
  }
  Parameters parameters;
  add_parameters(*executor, parameters);
  EXPECT_LT(relative_difference(parameters, expected.parameters()), bound);
  EXPECT_EQ(executor->lost_updates(), 0);
  EXPECT_EQ(mean_staleness(executor->workers()), 0);
}

TEST_P(AsyncOnGpu, LearnsTheParabolaAndCountsEveryUpdateOnce) {
  TrialOptions options;
  options.strategy = "async_shared";
  options.options.replicas = 3;
  options.steps = 1000;
  const auto executor = run(training_of("parabola", 48, options.steps), options);
  std::uint64_t steps = 0, updates = 0, versions = 0;
  const std::vector<LoopReport> loops = executor->loops();
  ASSERT_EQ(loops.size(), 3U);
  const LoopReport* busiest = &loops[0];
  for (const LoopReport& loop : loops) {
    steps += static_cast<std::uint64_t>(loop.steps);
    if (loop.steps > busiest->steps) busiest = &loop;
  }
  EXPECT_EQ(steps, 3000U);
  EXPECT_LT(busiest->losses.back(), busiest->losses.front() / 4);
  for (const WorkerReport& worker : executor->workers()) {
    updates = std::accumulate(worker.staleness.begin(), worker.staleness.end(), updates);
    EXPECT_EQ(static_cast<std::uint64_t>(worker.age.count()),
              std::accumulate(worker.staleness.begin(), worker.staleness.end(), std::uint64_t{0}));
  }
  const Graph& graph = executor->step().graph;
  for (VariableId v = 0; v < std::ssize(graph.variables()); ++v) {
    if (graph.variable(v).kind == VariableKind::Parameter)
      versions += executor->variable(v).counts->version;
  }
  EXPECT_EQ(updates, 4 * steps);  // two weights and two biases
  EXPECT_EQ(versions, 4 * steps);
  EXPECT_GE(executor->lost_updates(), 0);
  EXPECT_TRUE(executor->lost_updates() == 0 || GetParam().sharing == Sharing::Relaxed);
}

using AdPsgdOnGpu = AsyncOnGpu;

TEST_P(AdPsgdOnGpu, LearnsTheParabolaAndCountsWhatEachGradientMisses) {
  TrialOptions options;
  options.strategy = "ad_psgd";
  options.options.replicas = 3;
  options.steps = 1000;
  const auto executor = run(training_of("parabola", 48, options.steps), options);
  const std::vector<LoopReport> loops = executor->loops();
  ASSERT_EQ(loops.size(), 3U);
  const LoopReport* busiest = &loops[0];
  std::uint64_t updates = 0, averages = 0;
  for (const LoopReport& loop : loops) {
    if (loop.steps > busiest->steps) busiest = &loop;
  }
  EXPECT_LT(busiest->losses.back(), busiest->losses.front() / 4);
  for (const WorkerReport& worker : executor->workers()) {
    updates = std::accumulate(worker.staleness.begin(), worker.staleness.end(), updates);
  }
  const Graph& graph = executor->step().graph;
  for (VariableId v = 0; v < std::ssize(graph.variables()); ++v) {
    if (graph.variable(v).kind == VariableKind::Parameter) {
      averages += executor->variable(v).counts->averages;
    }
  }
  EXPECT_EQ(updates, 3000U * 4);  // two weights and two biases
  const auto active = static_cast<std::uint64_t>(loops[0].steps + loops[2].steps);
  EXPECT_EQ(averages, 2 * 4 * active);  // at both ends
  EXPECT_EQ(executor->lost_updates(), 0);
}

std::vector<Setup> locked_setups() {
  std::vector<Setup> all = setups();
  std::erase_if(all, [](const Setup& each) { return each.sharing != Sharing::Locked; });
  return all;
}

INSTANTIATE_TEST_SUITE_P(Sharing, AsyncOnGpu, testing::ValuesIn(setups()), name_of);
INSTANTIATE_TEST_SUITE_P(Sharing, AdPsgdOnGpu, testing::ValuesIn(locked_setups()), name_of);

}  // namespace
}  // namespace regatta
