// SPDX-License-Identifier: Apache-2.0
//
// Steps of workloads under strategies with a GPU's kernels, all replicas on one GPU: an emulated
// one, everywhere, and a real one if there is one. Synchronous strategies follow `single` on the
// CPU, the others themselves there, also if steps are recorded once and launched as one.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "kernels/cpu/lacks_for_test.h"
#include "kernels/cuda/device/on_devices_for_test.h"
#include "strategies/pipeline_schedule.h"
#include "strategies/test_support.h"

namespace regatta {
namespace {

using cuda::testing_support::On;
using namespace testing_support;

struct Case {
  std::string workload;
  std::int64_t global_batch = 0;
  std::int64_t steps = 0;
  ElementType element = ElementType::F32;
  double bound = 0;  ///< for losses and parameters, relative; 0: the bound of small sums
};

// Like equivalence_test's; a parabola's step adds up 50 numbers.
const Case kParabola{"parabola", 49, 20, ElementType::F32, 0};
const Case kImages[] = {{"resnet9_narrow", 8, 2, ElementType::F32, 2e-3},
                        {"airbench94_narrow", 32, 2, ElementType::BF16, 2e-2}};

/// A strategy with its options.
struct Way {
  std::string strategy;
  OptionValues options = {};
  std::int64_t replicas = 2;
  std::int64_t stages = 1;
  std::int64_t shards = 1;
  bool is_captured = true;  ///< whether its steps are also launched as one
};

const Way kSingle{.strategy = "single", .replicas = 1};
const Way kAllReduce{.strategy = "all_reduce", .options = {{"all_reduce", "reduce_to_one"}}};
const Way kSharded{.strategy = "sharded"};
const Way kInGraph{.strategy = "in_graph"};

/// All strategies except those of gpu_servers_test, and those that share variables
/// (ops/shared_update_test.cpp).
std::vector<Way> all_ways() {
  std::vector<Way> ways{kSingle, kAllReduce, kSharded, kInGraph};
  for (const char* algorithm : {"double_tree", "torus"}) {
    ways.push_back({.strategy = "all_reduce",
                    .options = {{"all_reduce", algorithm}},
                    .replicas = 4,
                    .is_captured = false});
  }
  for (const char* shard : {"gradients", "parameters"}) {
    ways.push_back({.strategy = "sharded", .options = {{"shard", shard}}});
  }
  for (const char* strategy : {"independent", "central_storage"}) {
    ways.push_back({.strategy = strategy});
  }
  ways.push_back({.strategy = "model_parallel", .replicas = 1, .stages = 2});
  ways.push_back({.strategy = "tensor_parallel", .replicas = 1, .shards = 2});
  for (const std::string_view schedule : strategies::kSchedules) {
    ways.push_back({.strategy = "pipeline",
                    .options = {{"schedule", std::string(schedule)}},
                    .replicas = 1,
                    .stages = 2});
  }
  for (const char* strategy : {"all_reduce+model_parallel", "all_reduce+pipeline"}) {
    ways.push_back({.strategy = strategy, .stages = 2});
  }
  ways.push_back({.strategy = "all_reduce+powersgd"});
  ways.push_back({.strategy = "all_reduce+bf16_compress"});
  for (const char* strategy : {"all_reduce+quantized", "sharded+quantized"}) {
    for (const std::int64_t bits : {8, 4}) {
      ways.push_back({.strategy = strategy, .options = {{"bits", bits}}});
    }
  }
  for (const char* strategy : {"all_reduce+top_k", "sharded+top_k"}) {
    ways.push_back({.strategy = strategy, .options = {{"share", 0.5}}});
  }
  ways.push_back({.strategy = "sharded+powersgd"});
  const OptionValues streaming{{"sync_every", 4}, {"fragments", 2}, {"delay", 1}, {"mix", 0.25}};
  for (const auto& [strategy, options] :
       std::vector<std::pair<std::string, OptionValues>>{{"local_sgd", {{"sync_every", 4}}},
                                                         {"diloco", {{"sync_every", 4}}},
                                                         {"diloco", streaming},
                                                         {"diloco+top_k", {{"share", 0.5}}},
                                                         {"diloco+quantized", {}},
                                                         {"gossip", {}},
                                                         {"gossip", {{"overlap", 1}}}}) {
    ways.push_back({.strategy = strategy, .options = options, .is_captured = false});
  }
  return ways;
}

struct Setup {
  On on = On::Emulated;
  Case test;
  Way way;
  LaunchSteps launch = LaunchSteps::ByKernel;
};

void PrintTo(const Setup& setup, std::ostream* out) {
  *out << setup.test.workload << " under " << setup.way.strategy;
}

/// The setups of images; an emulated step of images takes seconds.
std::vector<Setup> setups_of_images(On on, const Case& test) {
  if (test.workload == "airbench94_narrow") {
    std::vector<Setup> all{{on, test, kSingle, LaunchSteps::AsOne}};
    if (on == On::Gpu) all.push_back({on, test, kSingle});
    return all;
  }
  std::vector<Setup> all{{on, test, kAllReduce, LaunchSteps::AsOne}};
  all.push_back({on, test, kSharded});
  all.push_back({on, test, kInGraph});
  if (on == On::Emulated) return all;
  all.push_back({on, test, kSingle});
  all.push_back({on, test, kSingle, LaunchSteps::AsOne});
  all.push_back({on, test, kAllReduce});
  all.push_back({on, test, kSharded, LaunchSteps::AsOne});
  return all;
}

std::vector<Setup> setups() {
  std::vector<Setup> all;
  for (const On on : {On::Emulated, On::Gpu}) {
    for (const Way& way : all_ways()) {
      all.push_back({on, kParabola, way});
      if (way.is_captured) all.push_back({on, kParabola, way, LaunchSteps::AsOne});
    }
    for (const Case& test : kImages) {
      for (const Setup& setup : setups_of_images(on, test)) all.push_back(setup);
    }
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<Setup>& info) {
  std::string name = info.param.test.workload + "_" + identifier_of(info.param.way.strategy);
  for (const auto& [option, value] : info.param.way.options) {
    name += "_" + (value.index() == 2 ? "" : option + "_") + to_text(value);
  }
  std::replace(name.begin(), name.end(), '.', '_');
  return name + (info.param.launch == LaunchSteps::AsOne ? "_captured" : "") +
         (info.param.on == On::Gpu ? "_gpu" : "_emulated");
}

class OnGpu : public testing::TestWithParam<Setup> {
 protected:
  void SetUp() override { cuda::testing_support::make_device(GetParam().on, device_); }

  /// A GPU may round a compressed value the other way, or select another value of equal magnitude.
  static double bound() {
    const On on = GetParam().on;
    if (on == On::Gpu && exchange() == strategies::Exchange::Compressed) return 1e-2;
    return std::max(GetParam().test.bound, cuda::testing_support::bound_of_small_sums(on));
  }

  static strategies::Exchange exchange() {
    return strategies::exchange_of(strategies::find_strategies(GetParam().way.strategy));
  }

  /// The expected run on the CPU: `single` for a synchronous strategy, otherwise the strategy
  /// itself.
  static Way way_on_the_cpu() {
    return exchange() == strategies::Exchange::Synchronous ? kSingle : GetParam().way;
  }

  static TrialOptions options_of(const Way& way) {
    TrialOptions options;
    options.strategy = way.strategy;
    options.options.given = way.options;
    options.options.replicas = way.replicas;
    options.options.stages = way.stages;
    options.options.shards = way.shards;
    options.steps = GetParam().test.steps;
    return options;
  }

  /// Compares the steps that both took; a synchronous run takes all. Loops of other strategies take
  /// as many as they can; a parabola learns at one rate, whatever the others have seen.
  static void expect_near(const std::vector<float>& losses, const std::vector<float>& wanted) {
    const std::size_t steps = std::min(losses.size(), wanted.size());
    EXPECT_TRUE(exchange() == strategies::Exchange::Nothing ||
                steps == static_cast<std::size_t>(GetParam().test.steps));
    for (std::size_t k = 0; k < steps; ++k) {
      EXPECT_NEAR(losses[k], wanted[k], bound() * std::abs(wanted[k])) << "step " << k;
    }
  }

  std::unique_ptr<Device> device_;
};

TEST_P(OnGpu, FollowsTheCpu) {
  const Case& test = GetParam().test;
  if (const std::string why = cpu::why_cpu_lacks(test.element); !why.empty()) GTEST_SKIP() << why;
  const DataSet& data = data_of(test.workload);
  const Step step = training_of(test.workload, test.global_batch, test.steps, test.element);
  Trial expected(step, data, options_of(way_on_the_cpu()));

  TrialOptions options = options_of(GetParam().way);
  options.device = device_.get();
  options.add_kernels = [](KernelTable& kernels) { add_cuda_kernels(kernels); };
  options.launch = GetParam().launch;
  Trial actual(step, data, options);

  const std::vector<LoopReport> loops = actual.executor().loops(),
                                wanted = expected.executor().loops();
  ASSERT_EQ(loops.size(), wanted.size());
  for (std::size_t loop = 0; loop < loops.size(); ++loop) {
    expect_near(loops[loop].losses, wanted[loop].losses);
  }
  if (exchange() == strategies::Exchange::Nothing) return;
  EXPECT_LT(relative_difference(actual.parameters(), expected.parameters()), bound());
}

TEST(EveryStrategy, FollowsTheCpuOnAnEmulatedGpu) {
  std::set<std::string_view> tried{"async_shared", "ad_psgd", "parameter_server",
                                   "parameter_server_async"};
  for (const Way& way : all_ways()) {
    for (const strategies::Strategy* strategy : strategies::find_strategies(way.strategy))
      tried.insert(strategy->name);
  }
  for (const strategies::Strategy* strategy : strategies::all_strategies()) {
    if (strategy->trains == strategies::Trains::Sequences) continue;
    EXPECT_TRUE(tried.contains(strategy->name)) << strategy->name;
  }
}

TEST(EmulatedGpu, TellsByWhatEachProductIsComputed) {
  std::unique_ptr<Device> device;
  cuda::testing_support::make_device(On::Emulated, device);
  TrialOptions options;
  options.strategy = "all_reduce";
  options.options.replicas = 2;
  options.steps = 0;
  options.most_steps = 1;
  options.device = device.get();
  options.add_kernels = [](KernelTable& kernels) { add_cuda_kernels(kernels); };
  Trial trial(training_of("parabola", 50, 1), data_of("parabola"), options);
  std::set<std::string> nodes;  // of both replicas
  for (const auto& [node, choice] : trial.executor().kernel_choices()) {
    if (node.rfind("all_reduce ", 0) == 0) continue;  // covered by gpu_sums_test
    EXPECT_EQ(choice, "own tiles: the queue is emulated") << node;
    EXPECT_TRUE(nodes.insert(node).second) << node;
  }
  // Two layers: forward, gradients of both layers' weights, and of the second's data.
  EXPECT_EQ(nodes.size(), 5U);
}

INSTANTIATE_TEST_SUITE_P(Strategies, OnGpu, testing::ValuesIn(setups()), name_of);

}  // namespace
}  // namespace regatta
