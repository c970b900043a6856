// SPDX-License-Identifier: Apache-2.0
//
// Runs in one process with places on a GPU and on the host: an emulated GPU with separate memory
// and deferred execution, and a real one if there is one. They must follow `single` on the CPU, and
// only queues may carry data between the two.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <utility>
#include <vector>

#include "harness/run/backend.h"
#include "kernels/base/error_for_test.h"
#include "kernels/cpu/lacks_for_test.h"
#include "kernels/cuda/device/apart_devices_for_test.h"
#include "kernels/cuda/device/on_devices_for_test.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/gpu_facts.h"
#include "strategies/test_support.h"

namespace regatta::run {
namespace {

using namespace cuda::testing_support;
using namespace testing_support;

struct Case {
  const char* workload = "parabola";
  const char* strategy = "in_graph";
  std::int64_t replicas = 1;
  std::int64_t stages = 1;
  ElementType element = ElementType::F32;
};

std::string name_of(const Case& test) {
  return std::string(test.workload) + "_" + testing_support::identifier_of(test.strategy) + "_" +
         std::to_string(test.replicas) + "x" + std::to_string(test.stages) +
         (test.element == ElementType::BF16 ? "_bf16" : "");
}

void PrintTo(const Case& test, std::ostream* out) { *out << name_of(test); }

bool is_small(const Case& test) { return std::string(test.workload) == "parabola"; }

Step step_of(const Case& test) {
  return is_small(test) ? training_of("parabola", 49, 20)
                        : training_of(test.workload, 16, 2, test.element);
}

TrialOptions options_of(const Case& test) {
  TrialOptions options;
  options.strategy = test.strategy;
  options.options.replicas = test.replicas;
  options.options.stages = test.stages;
  options.steps = is_small(test) ? 20 : 2;
  return options;
}

/// The bound of gpu_test.
double bound_of(const Case& test, On on) {
  if (test.element == ElementType::BF16) return 2e-2;
  return is_small(test) ? cuda::testing_support::bound_of_small_sums(on) : 2e-3;
}

/// A case on a GPU and the host, arranged like make_backend()'s, with emulated devices.
class GpuRun {
 public:
  explicit GpuRun(const Case& test, LaunchSteps launch = LaunchSteps::ByKernel)
      : test_(test), backend_("cuda") {
    auto gpu = std::make_unique<ApartGpu>();
    gpu_ = gpu.get();
    backend_.gpu = std::move(gpu);
    auto host = std::make_unique<ApartHost>();
    host_ = host.get();
    backend_.pinned_host = std::move(host);
    add_cuda_kernels(backend_.kernels);
    add_cpu_kernels(backend_.host_kernels);
    backend_.transports.push_back(std::make_unique<comm::InProcessTransport>());
    for (KernelTable* kernels : {&backend_.kernels, &backend_.host_kernels}) {
      backend_.transports[0]->add_kernels(*kernels);
      keep_apart(*kernels, [this](const Place& place) -> Device& { return device_of(place); });
    }
    const Step step = step_of(test);
    const TrialOptions options = options_of(test);
    part_ = strategies::partitioned(strategies::apply(strategies::find_strategies(test.strategy),
                                                      step, options.options),
                                    Binding{})
                .front();
    examples_ = options.steps * step.global_batch;
    ExecutorOptions executor_options =
        testing_support::executor_options(data_of(test.workload), options, examples_);
    executor_options.launch = launch;
    executor_ = std::make_unique<Executor>(part_, backend_.devices(), executor_options);
    executor_->prepare();
  }

  void run() { executor_->run(examples_); }
  Executor& executor() { return *executor_; }
  const Graph& graph() const { return part_.graph; }
  TrafficByPlace counted() const { return backend_.traffic(); }
  std::int64_t steps() const { return options_of(test_).steps; }
  ApartHost& host() { return *host_; }
  ApartGpu& gpu() { return *gpu_; }
  Device& device_of(const Place& place) {
    if (place.role == Role::Host) return *host_;
    return *gpu_;
  }

 private:
  Case test_;
  Backend backend_;
  ApartGpu* gpu_ = nullptr;
  ApartHost* host_ = nullptr;
  Step part_;
  std::int64_t examples_ = 0;
  std::unique_ptr<Executor> executor_;
};

/// Compares a finished run with `single` on the CPU.
void expect_to_follow_single(Executor& executor, const Case& test, On on) {
  TrialOptions alone;
  alone.steps = options_of(test).steps;
  Trial expected(step_of(test), data_of(test.workload), alone);
  const std::vector<float> losses = executor.loops().at(0).losses, wanted = expected.losses();
  const double bound = bound_of(test, on);
  ASSERT_EQ(losses.size(), wanted.size());
  for (std::size_t k = 0; k < losses.size(); ++k) {
    EXPECT_NEAR(losses[k], wanted[k], bound * std::abs(wanted[k])) << "step " << k;
  }
  testing_support::Parameters parameters;
  testing_support::add_parameters(executor, parameters);
  EXPECT_LT(testing_support::relative_difference(parameters, expected.parameters()), bound);
}

class PlacesOnGpus : public testing::TestWithParam<Case> {
  void SetUp() override {
    if (const std::string why = cpu::why_cpu_lacks(GetParam().element); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }
};

TEST_P(PlacesOnGpus, FollowSingleOnTheCpuAndCarryTheBytesOfTheGraph) {
  GpuRun run(GetParam());
  run.run();
  expect_to_follow_single(run.executor(), GetParam(), On::Emulated);
  const TrafficByPlace counted = run.counted();
  for (const auto& [place, step] : traffic(run.graph())) {
    EXPECT_EQ(counted.at(place).sent, run.steps() * step.sent);
    EXPECT_EQ(counted.at(place).received, run.steps() * step.received);
    EXPECT_EQ(counted.at(place).messages, run.steps() * step.messages);
  }
  std::int64_t carried = 0;  // in a step, by the GPU's queues
  for (const Node& node : run.graph().nodes()) {
    if (node.op != Op::Copy) continue;
    const bool crosses = &run.device_of(node.place) != &run.device_of(sender_of(node));
    if (crosses) carried += node.outputs[0].bytes();
  }
  EXPECT_EQ(run.gpu().carried_bytes(), run.steps() * carried);
}

/// Runs like the program.
TEST_P(PlacesOnGpus, FollowSingleOnARealGpu) {
  if (const GpuFindings found = find_gpus(); !found.missing.empty()) GTEST_SKIP() << found.missing;
  const Case& test = GetParam();
  const auto backend = make_backend("cuda");
  const Step step = step_of(test);
  const TrialOptions options = options_of(test);
  const Step part =
      strategies::partitioned(
          strategies::apply(strategies::find_strategies(test.strategy), step, options.options),
          Binding{})
          .front();
  const std::int64_t examples = options.steps * step.global_batch;
  Executor executor(part, backend->devices(),
                    testing_support::executor_options(data_of(test.workload), options, examples));
  executor.run(examples);
  expect_to_follow_single(executor, test, On::Gpu);
}

constexpr std::array kCases{
    Case{.strategy = "central_storage", .replicas = 1},
    Case{.strategy = "central_storage", .replicas = 3},
    Case{.strategy = "in_graph+model_parallel", .replicas = 2, .stages = 2},
    Case{.strategy = "central_storage+model_parallel", .replicas = 2, .stages = 2},
    Case{.strategy = "parameter_server", .replicas = 3},
    Case{.workload = "resnet9_narrow",
         .strategy = "central_storage",
         .replicas = 2,
         .element = ElementType::BF16}};
INSTANTIATE_TEST_SUITE_P(Strategies, PlacesOnGpus, testing::ValuesIn(kCases),
                         [](const auto& test) { return name_of(test.param); });

TEST(HostsPlace, HasAllThatCentralStorageKeeps) {
  GpuRun run({.strategy = "central_storage", .replicas = 2});
  for (const Variable& variable : run.graph().variables()) {
    EXPECT_EQ(variable.place.role, Role::Host) << variable.name;
  }
  EXPECT_EQ(run.host().allocations(), 1U) << "one block, laid out by the plan";
}

TEST(HostsPlace, NamesTheCopyThatADeviceCouldNotMake) {
  GpuRun run({.strategy = "central_storage", .replicas = 1});
  run.gpu().cut_way_out();
  const std::string text = error_of([&] { run.run(); }, ErrorKind::Device);
  EXPECT_EQ(text.find("step 0: the copy of "), 0U) << text;
  EXPECT_NE(text.find(" from replica0: the link is cut"), std::string::npos) << text;
}

TEST(HostsPlace, HasNoStepThatIsLaunchedAsOne) {
  const std::string error = error_of(
      [] { const GpuRun run({.strategy = "central_storage", .replicas = 2}, LaunchSteps::AsOne); },
      ErrorKind::Unsupported);
  EXPECT_NE(error.find("a step is captured on one device only, but "), std::string::npos) << error;
}

}  // namespace
}  // namespace regatta::run
