// SPDX-License-Identifier: Apache-2.0
//
// One step of the parabola (50 points, forward, backward, update) under each in-process strategy,
// beside a plain loop that does the same without a graph: what the engine itself costs.
// ci/peers/torch_parabola.py is PyTorch's side.
#include <benchmark/benchmark.h>

#include <array>
#include <cmath>
#include <string>

#include "kernels/comm/in_process.h"
#include "kernels/graph/partition.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/executor.h"
#include "strategies/strategy.h"
#include "workloads/data/curve.h"
#include "workloads/workload.h"

namespace regatta {
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
  StrategyOptions options;
  options.replicas = replicas;
  const Step part = partition(apply(find_strategies(strategy),
                                    find_workload("parabola").training(recipe), options),
                              Binding{})
                        .front();
  KernelTable kernels("cpu");
  InProcessTransport transport;
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

/// The same arithmetic in f32, written out; the compiler's flags are the project's, tanh is libm's.
class PlainLoop {
 public:
  PlainLoop() : data_(make_curve()) {}

  float step() {
    std::array<float, kHidden> dw1{}, db1{}, dw2{};
    float db2 = 0;
    float loss = 0;
    for (std::size_t p = 0; p < kPoints; ++p) {
      const float x = data_.features[p];
      std::array<float, kHidden> h{};
      float y = b2_;
      for (std::size_t j = 0; j < kHidden; ++j) {
        h[j] = std::tanh(w1_[j] * x + b1_[j]);
        y += w2_[j] * h[j];
      }
      const float error = y - data_.targets[p];
      loss += error * error / kPoints;
      const float dy = 2 * error / kPoints;
      db2 += dy;
      for (std::size_t j = 0; j < kHidden; ++j) {
        dw2[j] += dy * h[j];
        const float dz = dy * w2_[j] * (1 - h[j] * h[j]);
        dw1[j] += dz * x;
        db1[j] += dz;
      }
    }
    for (std::size_t j = 0; j < kHidden; ++j) {
      w1_[j] -= kRate * dw1[j];
      b1_[j] -= kRate * db1[j];
      w2_[j] -= kRate * dw2[j];
    }
    b2_ -= kRate * db2;
    return loss;
  }

 private:
  static constexpr std::size_t kHidden = 5;
  static constexpr float kRate = 0.01F;
  DataSet data_;
  std::array<float, kHidden> w1_{0.5F, -1.2F, 0.3F, 1.7F, -0.4F};
  std::array<float, kHidden> w2_{-0.7F, 0.9F, 1.1F, -0.2F, 0.6F};
  std::array<float, kHidden> b1_{};
  float b2_ = 0;
};

void plain_loop(benchmark::State& state) {
  PlainLoop loop;
  for (auto _ : state) {
    for (std::int64_t i = 0; i < kStepsARun; ++i) benchmark::DoNotOptimize(loop.step());
  }
  state.SetItemsProcessed(state.iterations() * kStepsARun);
  state.counters["us_per_step"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kStepsARun) * 1e-6,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

BENCHMARK(plain_loop)->UseRealTime();
BENCHMARK_CAPTURE(engine, single, std::string("single"), 1)->UseRealTime();
BENCHMARK_CAPTURE(engine, independent_2, std::string("independent"), 2)->UseRealTime();
BENCHMARK_CAPTURE(engine, all_reduce_2, std::string("all_reduce"), 2)->UseRealTime();
BENCHMARK_CAPTURE(engine, in_graph_2, std::string("in_graph"), 2)->UseRealTime();
BENCHMARK_CAPTURE(engine, async_shared_2, std::string("async_shared"), 2)->UseRealTime();

}  // namespace
}  // namespace regatta

BENCHMARK_MAIN();
