// SPDX-License-Identifier: Apache-2.0
//
// Times one step of the parabola (50 points, forward, backward, update) under each in-process
// strategy, beside plain loops that do the same without a graph: the difference is the cost of the
// engine. ci/peers/torch_parabola.py measures PyTorch.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>

#include "kernels/comm/in_process/in_process.h"
#include "kernels/distribute/partition.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/executor.h"
#include "strategies/passes.h"
#include "workloads/data/curve.h"
#include "workloads/plain_parabola.h"
#include "workloads/workload.h"

namespace regatta::workloads {
namespace {

constexpr std::int64_t kPoints = 50;
constexpr std::int64_t kStepsARun = 2000;

void engine(benchmark::State& state, const std::string& strategy, std::int64_t replicas) {
  const DataSet data = make_curve();
  Recipe recipe;
  recipe.global_batch = kPoints;
  recipe.train_examples = kPoints;
  constexpr std::int64_t kMaxSteps = 50'000'000;
  recipe.total_examples = kMaxSteps * kPoints;
  strategies::StrategyOptions options;
  options.replicas = replicas;
  const Step part = strategies::partitioned(
                        strategies::apply(strategies::find_strategies(strategy),
                                          find_workload("parabola").training(recipe), options),
                        Binding{})
                        .front();
  KernelTable kernels("cpu");
  comm::InProcessTransport transport;
  add_cpu_kernels(kernels);
  transport.add_kernels(kernels);
  ExecutorOptions executor_options;
  executor_options.data = &data;
  executor_options.cores = {0, 1};
  executor_options.max_examples = 4'000'000 * kPoints;
  Executor executor(part, kernels, executor_options);
  for (auto _ : state) executor.run(executor.examples_seen() + kStepsARun * kPoints);
  state.SetItemsProcessed(state.iterations() * kStepsARun);
  state.counters["us_per_step"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kStepsARun) * 1e-6,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void plain_loop(benchmark::State& state, float (*step)(PlainParabola&)) {
  const DataSet data = make_curve();
  PlainParabola parabola;
  std::ranges::copy(data.inputs.as<float>(), parabola.x.begin());
  std::ranges::copy(data.targets.as<float>(), parabola.y.begin());
  for (auto _ : state) {
    for (std::int64_t i = 0; i < kStepsARun; ++i) benchmark::DoNotOptimize(step(parabola));
  }
  state.SetItemsProcessed(state.iterations() * kStepsARun);
  state.counters["us_per_step"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kStepsARun) * 1e-6,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

BENCHMARK_CAPTURE(plain_loop, o2, plain_step_o2)->UseRealTime();
BENCHMARK_CAPTURE(plain_loop, fast_math, plain_step_fast_math)->UseRealTime();
BENCHMARK_CAPTURE(engine, single, std::string("single"), 1)->UseRealTime();
BENCHMARK_CAPTURE(engine, independent_2, std::string("independent"), 2)->UseRealTime();
BENCHMARK_CAPTURE(engine, all_reduce_2, std::string("all_reduce"), 2)->UseRealTime();
BENCHMARK_CAPTURE(engine, in_graph_2, std::string("in_graph"), 2)->UseRealTime();
BENCHMARK_CAPTURE(engine, async_shared_2, std::string("async_shared"), 2)->UseRealTime();

}  // namespace
}  // namespace regatta::workloads

BENCHMARK_MAIN();
