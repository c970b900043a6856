// SPDX-License-Identifier: Apache-2.0
//
// Runs in one process with places on several GPUs and on the host: emulated GPUs with separate
// memory and deferred execution, and real ones if there are any. They must compute the bits of one
// GPU, and only queues may carry data between places.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <utility>
#include <vector>

#include "harness/run/backend.h"
#include "kernels/cpu/lacks_for_test.h"
#include "kernels/cuda/device/apart_devices_for_test.h"
#include "kernels/cuda/device/on_devices_for_test.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/gpu_facts.h"
#include "strategies/test_support.h"

namespace regatta::run {
namespace {

using cuda::testing_support::ApartGpu;
using cuda::testing_support::ApartHost;
using cuda::testing_support::keep_apart;
using cuda::testing_support::On;
using testing_support::data_of;
using testing_support::training_of;
using testing_support::Trial;
using testing_support::TrialOptions;

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

/// Whether GPUs can read each other's memory.
enum class Peers { Read, Cannot };

/// A case on `gpus` GPUs, arranged like make_backend()'s, with emulated devices.
class GpuRun {
 public:
  GpuRun(const Case& test, int gpus, Peers peers = Peers::Read,
         LaunchSteps launch = LaunchSteps::ByKernel)
      : test_(test), backend_("cuda") {
    for (int i = 0; i < gpus; ++i) {
      auto gpu = std::make_unique<ApartGpu>();
      gpus_.push_back(gpu.get());
      if (peers == Peers::Cannot) gpu->close_off();
      backend_.gpus.push_back(std::move(gpu));
    }
    auto host = std::make_unique<ApartHost>();
    host_ = host.get();
    backend_.pinned_host = std::move(host);
    backend_.deal = {.gpus = gpus, .stages = test.stages};
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
  ApartGpu& gpu(std::size_t number) { return *gpus_.at(number); }
  /// Uses the test's own rule, not the harness's.
  Device& device_of(const Place& place) {
    if (place.role == Role::Host) return *host_;
    if (place.role == Role::Server) return *gpus_.front();
    const auto worker = static_cast<std::size_t>(place.replica * test_.stages + place.stage);
    return *gpus_[worker % gpus_.size()];
  }
  std::vector<float> losses() const { return executor_->loops().at(0).losses; }
  testing_support::Parameters parameters() {
    testing_support::Parameters all;
    testing_support::add_parameters(*executor_, all);
    return all;
  }

 private:
  Case test_;
  Backend backend_;
  std::vector<ApartGpu*> gpus_;
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

TEST_P(PlacesOnGpus, ComputeTheBitsOfOneGpuHoweverManyThereAre) {
  GpuRun one(GetParam(), 1);
  one.run();
  for (const auto& [gpus, peers] :
       {std::pair(2, Peers::Read), std::pair(3, Peers::Read), std::pair(2, Peers::Cannot)}) {
    if (gpus > 2 && !is_small(GetParam())) continue;  // there are two replicas of images
    GpuRun several(GetParam(), gpus, peers);
    several.run();
    EXPECT_EQ(several.losses(), one.losses()) << gpus;
    EXPECT_EQ(several.parameters(), one.parameters()) << gpus;
  }
}

TEST_P(PlacesOnGpus, FollowSingleOnTheCpu) {
  GpuRun several(GetParam(), 2);
  several.run();
  expect_to_follow_single(several.executor(), GetParam(), On::Emulated);
}

/// Runs like the program, on two real GPUs or on the only one.
TEST_P(PlacesOnGpus, FollowSingleOnRealGpus) {
  const GpuFindings found = find_gpus();
  if (!found.missing.empty()) GTEST_SKIP() << found.missing;
  const Case& test = GetParam();
  const auto gpus = std::min(2, static_cast<int>(found.gpus.size()));
  const auto backend = make_backend("cuda", {.deal = {.gpus = gpus, .stages = test.stages}});
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

/// On three GPUs: counted traffic equals the graph's, and the right queues carry it.
void expect_to_carry_the_bytes_of_the_graph(const Case& test, Peers peers) {
  GpuRun run(test, 3, peers);
  run.run();
  const TrafficByPlace counted = run.counted();
  for (const auto& [place, step] : traffic(run.graph())) {
    EXPECT_EQ(counted.at(place).sent, run.steps() * step.sent);
    EXPECT_EQ(counted.at(place).received, run.steps() * step.received);
    EXPECT_EQ(counted.at(place).messages, run.steps() * step.messages);
  }
  std::map<const Device*, std::int64_t> carried;  // in a step
  for (const Node& node : run.graph().nodes()) {
    if (node.op != Op::Copy) continue;
    const Device& to = run.device_of(node.place);
    const Device& from = run.device_of(sender_of(node));
    if (&to == &from) continue;
    const bool by_host = peers == Peers::Cannot && &to != &run.host() && &from != &run.host();
    if (&to == &run.host() || by_host) carried[&from] += node.outputs[0].bytes();
    if (&to != &run.host()) carried[&to] += node.outputs[0].bytes();
  }
  std::int64_t all = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(run.gpu(i).carried_bytes(), run.steps() * carried[&run.gpu(i)]) << "GPU " << i;
    all += run.gpu(i).carried_bytes();
  }
  EXPECT_GT(all, 0);
}

TEST_P(PlacesOnGpus, CountTheBytesOfTheGraphAndLetQueuesCarryThemBetweenDevices) {
  expect_to_carry_the_bytes_of_the_graph(GetParam(), Peers::Read);
}

TEST_P(PlacesOnGpus, LetQueuesCarryThemThroughTheHostWhereThereIsNoOtherWay) {
  expect_to_carry_the_bytes_of_the_graph(GetParam(), Peers::Cannot);
}

constexpr std::array kCases{
    Case{.strategy = "in_graph", .replicas = 2},
    Case{.strategy = "in_graph", .replicas = 5},
    Case{.strategy = "central_storage", .replicas = 1},
    Case{.strategy = "central_storage", .replicas = 3},
    Case{.strategy = "model_parallel", .stages = 2},
    Case{.strategy = "in_graph+model_parallel", .replicas = 2, .stages = 2},
    Case{.strategy = "central_storage+model_parallel", .replicas = 2, .stages = 2},
    Case{.strategy = "parameter_server", .replicas = 3},
    Case{.workload = "resnet9_narrow", .strategy = "in_graph", .replicas = 2},
    Case{.workload = "resnet9_narrow",
         .strategy = "central_storage",
         .replicas = 2,
         .element = ElementType::BF16}};
INSTANTIATE_TEST_SUITE_P(Strategies, PlacesOnGpus, testing::ValuesIn(kCases),
                         [](const auto& test) { return name_of(test.param); });

template <typename Function>
RunError error_of(const Function& function) {
  try {
    function();
  } catch (const RunError& error) {
    return error;
  }
  return {ErrorKind::Usage, "nothing was thrown"};
}

TEST(HostsPlace, HasAllThatCentralStorageKeeps) {
  GpuRun run({.strategy = "central_storage", .replicas = 2}, 2);
  for (const Variable& variable : run.graph().variables()) {
    EXPECT_EQ(variable.place.role, Role::Host) << variable.name;
  }
  EXPECT_EQ(run.host().allocations(), 1U) << "one block, laid out by the plan";
}

TEST(HostsPlace, NamesTheCopyThatADeviceCouldNotMake) {
  GpuRun run({.strategy = "central_storage", .replicas = 1}, 1);
  run.gpu(0).cut_way_out();
  const RunError error = error_of([&] { run.run(); });
  EXPECT_EQ(error.kind(), ErrorKind::Device);
  const std::string text = error.what();
  EXPECT_EQ(text.find("step 0: the copy of "), 0U) << text;
  EXPECT_NE(text.find(" from replica0: the link is cut"), std::string::npos) << text;
}

TEST(SeveralGpus, HoldNoVariableThatTheirPlacesShare) {
  const Case shared{.strategy = "async_shared", .replicas = 2};
  const RunError error = error_of([&] { const GpuRun run(shared, 2); });
  EXPECT_EQ(error.kind(), ErrorKind::Unsupported);
  EXPECT_NE(std::string(error.what())
                .find(" of replica0 is used by replica1, which is on another device: places that "
                      "share variables have to be on one"),
            std::string::npos)
      << error.what();
  GpuRun(shared, 1).run();
}

TEST(SeveralGpus, HaveNoStepThatIsLaunchedAsOne) {
  const RunError error = error_of([] {
    const GpuRun run({.strategy = "in_graph", .replicas = 2}, 2, Peers::Read, LaunchSteps::AsOne);
  });
  EXPECT_EQ(error.kind(), ErrorKind::Unsupported);
  EXPECT_EQ(std::string(error.what()),
            "a step is captured on one device only, but replica0 and replica1 are on two");
}

}  // namespace
}  // namespace regatta::run
