// SPDX-License-Identifier: Apache-2.0
#include "harness/run/peak.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <thread>
#include <utility>

#include "harness/plan/device_name.h"
#include "kernels/graph/op.h"
#include "kernels/runtime/affinity.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::run {
namespace {

constexpr std::int64_t kRowsPerCore = 256, kSide = 512;
constexpr std::int64_t kWarmup = 20'000'000, kLongest = 80'000'000;  // ns

struct GpuPeak {
  std::string_view name;  ///< the beginning of the driver's name
  double f32, bf16;
};
constexpr std::array kGpus{
    GpuPeak{"NVIDIA A100", 19.5e12, 312e12},    GpuPeak{"NVIDIA H100 80GB HBM3", 67e12, 989e12},
    GpuPeak{"NVIDIA H100 PCIe", 51e12, 756e12}, GpuPeak{"NVIDIA H100 NVL", 60e12, 835e12},
    GpuPeak{"NVIDIA H200 NVL", 60e12, 835e12},  GpuPeak{"NVIDIA H200", 67e12, 989e12}};

/// Measures on a separate thread, so that the kernel's OpenMP team ends with it.
double measure(ElementType element, const std::vector<int>& cores) {
  const auto threads = static_cast<int>(cores.size());
  KernelTable kernels{std::string(plan::kCpu)};
  add_cpu_kernels(kernels);
  const std::vector<TensorType> types{{element, {kRowsPerCore * threads, kSide}},
                                      {element, {kSide, kSide}}};
  Node node;
  node.op = Op::Dense;
  node.outputs = op_info(node.op).infer({types, {}, node.attributes});
  std::vector<Tensor> tensors;
  for (const TensorType& type : {types[0], types[1], node.outputs[0]}) {
    tensors.push_back({.type = type, .data = cpu_device().allocate(type.bytes())});
    std::memset(tensors.back().data, 0x3c, static_cast<std::size_t>(type.bytes()));  // 0.0115
  }
  const std::unique_ptr<Kernel> kernel = kernels.build({.node = node,
                                                        .inputs = std::span(tensors).first(2),
                                                        .outputs = std::span(tensors).last(1),
                                                        .variables = {},
                                                        .versions_seen = {},
                                                        .threads = threads});
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::thread([&] {
    adopt_team(threads, cores);
    const std::int64_t first = now_ns();
    constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t begin = first; begin - first < kLongest || least == kNone; begin = now_ns()) {
      kernel->run({});
      if (begin - first >= kWarmup) least = std::min(least, now_ns() - begin);
    }
  }).join();
  for (const Tensor& tensor : tensors) cpu_device().release(tensor.data);
  const auto products = static_cast<double>(kRowsPerCore * threads * kSide * kSide);
  return 2 * products / static_cast<double>(std::max<std::int64_t>(1, least)) * 1e9;
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
  static std::map<std::pair<ElementType, std::vector<int>>, double> measured;
  double& most = measured[{element, cores}];
  most = std::max(most, measure(element, cores));
  return {.flops_per_s = most, .of = "measured"};
}

double measured_bandwidth(const std::vector<int>& cores) {
  constexpr std::size_t kBytes = 64 << 20;
  constexpr int kRounds = 8;
  std::int64_t begin = 0, least = std::numeric_limits<std::int64_t>::max();
  std::barrier round(std::ssize(cores), [&]() noexcept {
    const std::int64_t now = now_ns();
    if (begin != 0) least = std::min(least, now - begin);
    begin = now;
  });
  std::atomic<char> last;
  std::vector<std::thread> threads;
  for (const int core : cores) {
    threads.emplace_back([&round, &last, core] {
      pin_thread({core});
      std::vector<char> from(kBytes, 1), to(kBytes, 2);
      for (int i = 0; i < kRounds; ++i) {
        round.arrive_and_wait();
        std::memcpy(to.data(), from.data(), kBytes);
        last = to[kBytes - 1];  // so that the copy is needed
      }
      round.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto moved = 2.0 * static_cast<double>(kBytes) * static_cast<double>(cores.size());
  return moved / static_cast<double>(least) * 1e9;
}

}  // namespace regatta::run
