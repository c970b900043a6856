// SPDX-License-Identifier: Apache-2.0
#include "harness/run/peak.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "harness/plan/device_name.h"
#include "harness/run/timed_kernels.h"
#include "kernels/base/error.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/builder.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/executor.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::run {
namespace {

constexpr std::int64_t kRowsPerCore = 512, kSide = 1024;
constexpr std::int64_t kLongest = 40'000'000;  // ns
constexpr std::int64_t kMostProducts = 10'000;

struct GpuPeak {
  std::string_view name;  ///< the beginning of the driver's name
  double f32, bf16;
};
constexpr std::array kGpus{
    GpuPeak{"NVIDIA A100", 19.5e12, 312e12},    GpuPeak{"NVIDIA H100 80GB HBM3", 67e12, 989e12},
    GpuPeak{"NVIDIA H100 PCIe", 51e12, 756e12}, GpuPeak{"NVIDIA H100 NVL", 60e12, 835e12},
    GpuPeak{"NVIDIA H200 NVL", 60e12, 835e12},  GpuPeak{"NVIDIA H200", 67e12, 989e12}};

/// A step of one product, which counts as one example.
Step product_of(ElementType element, std::int64_t rows) {
  Step step;
  step.global_batch = 1;
  Builder builder(step.graph);
  std::vector<Value> inputs;
  for (const std::int64_t count : {rows, kSide}) {
    const TensorType type{ElementType::F32, {count, kSide}};
    const VariableId variable = step.graph.add(Variable{
        .name = std::to_string(inputs.size()),
        .type = type,
        .initializer = {.kind = Initializer::Kind::Ones, .source = {}},
        .place = {},
    });
    const Value value = builder.read(variable);
    inputs.push_back(element == ElementType::F32 ? value : builder.cast(value, element));
  }
  builder.dense(inputs[0], inputs[1]);
  return step;
}

double measure(ElementType element, const std::vector<int>& cores) {
  const Step step = product_of(element, kRowsPerCore * std::ssize(cores));
  KernelTable kernels{std::string(plan::kCpu)};
  add_cpu_kernels(kernels);
  TimedKernels timed(kernels, std::string(plan::kCpu), kMostProducts);
  ExecutorOptions options;
  options.cores = cores;
  options.threads_per_worker = static_cast<int>(cores.size());
  options.max_examples = kMostProducts;
  Executor executor(step, timed.table(), options);
  const std::int64_t begin = now_ns();
  std::int64_t products = 0;
  while (products < kMostProducts && now_ns() - begin < kLongest) executor.run(++products);
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const TimedKernels::NodeTimes& node : timed.nodes()) {
    if (node.op != Op::Dense) continue;
    for (std::int64_t k = 0; k < products; ++k) {
      least = std::min(least, node.ticks[static_cast<std::size_t>(k)]);
    }
  }
  return static_cast<double>(model_flops(step.graph)) /
         static_cast<double>(std::max<std::int64_t>(1, ticks_to_ns(least))) * 1e9;
}

}  // namespace

std::optional<Peak> peak_of_gpu(std::string_view name, ElementType element) {
  const auto* const found = std::find_if(
      kGpus.begin(), kGpus.end(), [&](const GpuPeak& gpu) { return name.starts_with(gpu.name); });
  if (found == kGpus.end()) return std::nullopt;
  return Peak{.flops_per_s = element == ElementType::BF16 ? found->bf16 : found->f32,
              .of = std::string(name)};
}

Peak measured_peak(ElementType element, const std::vector<int>& cores) {
  check(!cores.empty(), "a peak is that of some cores");
  static std::map<std::pair<ElementType, std::size_t>, double> measured;
  const auto [entry, is_new] = measured.try_emplace({element, cores.size()});
  if (is_new) entry->second = measure(element, cores);
  return {.flops_per_s = entry->second, .of = "measured"};
}

}  // namespace regatta::run
