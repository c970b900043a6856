// SPDX-License-Identifier: Apache-2.0
//
// An update (update.h) of a variable that other queues read and update at any time
// (shared_variable.h). It takes three launches: the first computes the step's factors once, the
// second updates the elements, the third counts the update and the versions that its gradient
// missed. For .cu files only.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "kernels/cuda/device/scratch.h"
#include "kernels/cuda/ops/shared_variable.h"

namespace regatta::cuda {

template <typename Formula>
struct BeginSharedUpdate {
  Formula formula;
  const StepValues* step;
  typename Formula::Factors* factors;

  __host__ __device__ void operator()(std::int64_t) const { *factors = formula.factors(*step); }
};

template <typename Formula>
struct SharedUpdate {
  static constexpr int kVariables = Formula::kVariables;

  Formula formula;
  const typename Formula::Factors* factors;
  Shards shards;
  const float* gradient;  ///< null: all zeros
  float* variables[kVariables];
  std::uint64_t* canary;  ///< null under locks, where no update is lost
  std::int64_t middle;    ///< the pack beside which the canary is incremented

  __host__ __device__ void operator()(const Block& block) const {
    const typename Formula::Factors now = *factors;
    shards.for_each_pack(block, [&](std::int64_t first, int width) {
      if (first == middle && canary != nullptr) touch_canary(canary);
      float packs[kVariables][kSharedWidth] = {};
      for (int k = 0; k < kVariables; ++k) load_relaxed(variables[k] + first, width, packs[k]);
      for (int j = 0; j < kSharedWidth; ++j) {  // unrolled: packs are registers
        if (j >= width) break;
        float element[kVariables];
        for (int k = 0; k < kVariables; ++k) element[k] = packs[k][j];
        formula.update(now, gradient == nullptr ? 0.0F : gradient[first + j], element);
        for (int k = 0; k < kVariables; ++k) packs[k][j] = element[k];
      }
      for (int k = 0; k < kVariables; ++k) store_relaxed(variables[k] + first, width, packs[k]);
    });
  }
};

__host__ __device__ inline int bit_width_of(std::uint64_t value) {
#ifdef __CUDA_ARCH__
  return 64 - __clzll(static_cast<long long>(value));
#else
  return std::bit_width(value);
#endif
}

/// Counts the update, the versions that its gradient missed since its loop read the parameter, and
/// the time since that read.
struct CountUpdate {
  VersionCounts* variable;
  bool counts_canary;       ///< increments the canary; if false, SharedUpdate does
  const SeenVersion* seen;  ///< null: the update has no gradient
  QueuedCounts* counts;

  __host__ __device__ void operator()(std::int64_t) const {
    if (counts_canary) count_one(&variable->canary);
    const std::uint64_t previous = count_one(&variable->version);
    if (seen == nullptr || counts == nullptr) return;
    const std::uint64_t missed = previous + finished_version(&variable->averages) - seen->number;
    ++counts->staleness[missed < kStalenessCounts ? missed : kStalenessCounts - 1];
    const std::uint64_t now = device_clock();
    const std::uint64_t age = now > seen->ticks ? now - seen->ticks : 0;
    const auto age_ns = static_cast<std::int64_t>(age);
    ++counts->ages[SpanHistogram::bucket_of(age, bit_width_of(age))];
    counts->age_sum_ns += age_ns;
    if (age_ns > counts->longest_age_ns) counts->longest_age_ns = age_ns;
  }
};

/// Builds the kernel of an update. `keep` owns the memory that the formula points to; the kernel
/// keeps it.
template <typename Formula, typename Keep>
KernelPointer build_shared_update(const KernelRequest& request, const Formula& formula,
                                  const Keep& keep) {
  using Factors = typename Formula::Factors;
  Queue* const queue = &queue_of(request);
  VariableStorage& parameter = *request.variables[0];
  const Shards shards(parameter);
  const auto scratch =
      std::make_shared<Scratch>(*queue, static_cast<std::int64_t>(sizeof(Factors)));
  auto* const factors = scratch->as<Factors>();
  const BeginSharedUpdate<Formula> begin{formula, queue->values(), factors};
  SharedUpdate<Formula> body{.formula = formula,
                             .factors = factors,
                             .shards = shards,
                             .gradient = request.inputs.empty() ? nullptr : request.inputs[0].f32(),
                             .variables = {},
                             .canary = shards.locked() ? nullptr : &parameter.counts->canary,
                             .middle = shards.middle()};
  for (int k = 0; k < Formula::kVariables; ++k) {
    body.variables[k] = request.variables[static_cast<std::size_t>(k)]->tensor.f32();
  }
  const CountUpdate count{
      .variable = parameter.counts,
      .counts_canary = shards.locked(),
      .seen = request.versions_seen.empty() ? nullptr : request.versions_seen[0],
      .counts = request.counts};
  const std::int64_t blocks = shards.blocks();
  return make_kernel([=, memory = std::pair(keep, scratch)](const StepContext&) {
    for_each(*queue, 1, begin);
    for_each_block(*queue, blocks, Shards::kThreads, 0, body);
    for_each(*queue, 1, count);
  });
}

/// Returns the address of the number of updates by all loops that share the parameter, for formulas
/// that depend on it; null if one loop alone updates it, because that loop's step number is the
/// count.
inline const std::uint64_t* shared_version(const KernelRequest& request) {
  VariableStorage& parameter = *request.variables[0];
  return parameter.sharing == Sharing::None ? nullptr : &parameter.counts->version;
}

}  // namespace regatta::cuda
