// SPDX-License-Identifier: Apache-2.0
//
// Steps of workloads under strategies with the kernels of a GPU, all replicas on one: the emulated
// one, everywhere, and a real one, where there is one. They follow `single` on the CPU, replicas of
// `independent` those there, also where steps are recorded once and launched as one.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/lacks_for_test.h"
#include "kernels/cuda/device/on_devices_for_test.h"
#include "strategies/test_support.h"

namespace regatta {
namespace {

using cuda::testing_support::On;
using testing_support::add_parameters;
using testing_support::data_of;
using testing_support::executor_options;
using testing_support::identifier_of;
using testing_support::relative_difference;
using testing_support::training_of;
using testing_support::Trial;
using testing_support::TrialOptions;

struct Case {
  std::string workload;
  std::int64_t global_batch = 0;
  std::int64_t steps = 0;
  ElementType element = ElementType::F32;
  double bound = 0;  ///< on losses and parameters, relative
};

// As equivalence_test's; a parabola's step adds up 50 numbers.
const Case kCases[] = {{"parabola", 49, 20, ElementType::F32, 1e-5},
                       {"resnet9_thin", 16, 2, ElementType::F32, 2e-3},
                       {"airbench94_narrow", 32, 2, ElementType::BF16, 2e-2}};

struct Setup {
  On on = On::Emulated;
  Case test;
  std::string strategy;
  LaunchSteps launch = LaunchSteps::ByKernel;
};

std::vector<Setup> setups() {
  std::vector<Setup> all;
  for (const On on : {On::Emulated, On::Gpu}) {
    for (const Case& test : kCases) {
      // Where a step of images is emulated it takes seconds.
      const bool takes_seconds = on == On::Emulated && test.workload != "parabola";
      const bool airbench = test.workload == "airbench94_narrow";
      if (!takes_seconds) all.push_back({on, test, "single"});
      if (!takes_seconds || airbench) all.push_back({on, test, "single", LaunchSteps::AsOne});
      if (airbench) continue;
      if (!takes_seconds) all.push_back({on, test, "all_reduce"});
      all.push_back({on, test, "all_reduce", LaunchSteps::AsOne});
      all.push_back({on, test, "sharded"});
      all.push_back({on, test, "in_graph"});
      if (test.workload != "parabola") continue;
      all.push_back({on, test, "in_graph", LaunchSteps::AsOne});
      for (const char* strategy : {"independent", "central_storage", "model_parallel"}) {
        all.push_back({on, test, strategy});
        all.push_back({on, test, strategy, LaunchSteps::AsOne});
      }
    }
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<Setup>& info) {
  return info.param.test.workload + "_" + identifier_of(info.param.strategy) +
         (info.param.launch == LaunchSteps::AsOne ? "_captured" : "") +
         (info.param.on == On::Gpu ? "_gpu" : "_emulated");
}

class OnGpu : public testing::TestWithParam<Setup> {
 protected:
  void SetUp() override { cuda::testing_support::make_device(GetParam().on, device_); }

  /// A GPU's tanh and exp err by an ulp or two more than the host's.
  static double bound() {
    const double usual = GetParam().test.bound;
    return GetParam().on == On::Gpu ? std::max(usual, 1e-4) : usual;
  }

  /// Steps that both took: of a synchronous run, all. Loops of others find out how many they take;
  /// a parabola learns at one rate, whatever the others have seen.
  static void expect_near(const std::vector<float>& losses, const std::vector<float>& wanted) {
    const std::size_t steps = std::min(losses.size(), wanted.size());
    EXPECT_TRUE(GetParam().strategy == "independent" ||
                steps == static_cast<std::size_t>(GetParam().test.steps));
    for (std::size_t k = 0; k < steps; ++k) {
      EXPECT_NEAR(losses[k], wanted[k], bound() * std::abs(wanted[k])) << "step " << k;
    }
  }

  std::unique_ptr<Device> device_;
};

TEST_P(OnGpu, FollowsTheCpu) {
  const Case& test = GetParam().test;
  if (const std::string why = why_cpu_lacks(test.element); !why.empty()) GTEST_SKIP() << why;
  const DataSet& data = data_of(test.workload);
  const Step step = training_of(test.workload, test.global_batch, test.steps, test.element);
  TrialOptions options;
  options.steps = test.steps;
  options.options.given["all_reduce"] = "reduce_to_one";
  const bool is_independent = GetParam().strategy == "independent";
  options.options.replicas = is_independent ? 2 : 1;
  options.strategy = is_independent ? "independent" : "single";
  Trial expected(step, data, options);

  options.strategy = GetParam().strategy;
  options.options.stages = options.strategy == "model_parallel" ? 2 : 1;
  options.options.replicas =
      options.strategy == "single" || options.strategy == "model_parallel" ? 1 : 2;
  KernelTable kernels("cuda");
  add_cuda_kernels(kernels);
  InProcessTransport transport;
  transport.add_kernels(kernels);
  const Step part =
      partition(apply(find_strategies(options.strategy), step, options.options), Binding{}).front();
  const std::int64_t examples = test.steps * test.global_batch;
  ExecutorOptions executor_options = testing_support::executor_options(data, options, examples);
  executor_options.launch = GetParam().launch;
  Executor executor(part, {kernels, *device_}, executor_options);
  executor.prepare();
  executor.run(examples);

  const std::vector<LoopReport> loops = executor.loops(), wanted = expected.executor().loops();
  ASSERT_EQ(loops.size(), wanted.size());
  for (std::size_t loop = 0; loop < loops.size(); ++loop) {
    expect_near(loops[loop].losses, wanted[loop].losses);
  }
  if (is_independent) return;
  std::map<std::string, std::vector<float>> parameters;
  add_parameters(executor, parameters);
  EXPECT_LT(relative_difference(parameters, expected.parameters()), bound());
}

TEST(EmulatedGpu, TellsByWhatEachProductIsComputed) {
  std::unique_ptr<Device> device;
  cuda::testing_support::make_device(On::Emulated, device);
  KernelTable kernels("cuda");
  add_cuda_kernels(kernels);
  InProcessTransport transport;
  transport.add_kernels(kernels);
  TrialOptions options;
  options.strategy = "all_reduce";
  options.options.replicas = 2;
  const Step step = training_of("parabola", 50, 1);
  const Step part =
      partition(apply(find_strategies(options.strategy), step, options.options), Binding{}).front();
  const Executor executor(part, {kernels, *device},
                          executor_options(data_of("parabola"), options, 50));
  std::set<std::string> nodes;  // of both replicas
  for (const auto& [node, choice] : executor.kernel_choices()) {
    if (node.rfind("all_reduce ", 0) == 0) continue;  // gpu_sums_test
    EXPECT_EQ(choice, "own tiles: the queue is emulated") << node;
    EXPECT_TRUE(nodes.insert(node).second) << node;
  }
  // Two layers, forward; gradients of weights of both, of data of the second.
  EXPECT_EQ(nodes.size(), 5U);
}

INSTANTIATE_TEST_SUITE_P(Strategies, OnGpu, testing::ValuesIn(setups()), name_of);

}  // namespace
}  // namespace regatta
