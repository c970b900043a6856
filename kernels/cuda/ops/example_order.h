// SPDX-License-Identifier: Apache-2.0
//
// Draws the order of examples in an epoch on the GPU, with many threads: the permutation that
// draw_example_order() (random.h) makes swap by swap. That loop runs from i = count down to 2 and
// swaps places i - 1 and target(i) < i; no later swap touches place i - 1. Therefore
//   order[i - 1] = the number at place target(i) just before i's swap;
//   the number at place p before i's swap is p itself, unless an earlier swap had target p;
//   then the last such swap, k (the smallest k > i with target(k) = p), had put there the number
//   that stood at place k - 1 before k's swap.
// Few swaps have the same target (some 20 at most) and chains are short, so each place has a list
// of its swaps, in any order, and every i follows its own chain. For .cu files only.
#pragma once

#include <cstdint>
#include <utility>

#include "kernels/base/random.h"
#include "kernels/cuda/device/launch.h"
#include "kernels/data/input_plan.h"

namespace regatta::cuda {

/// Stores `value` atomically and returns the old value.
__host__ __device__ inline std::int32_t exchange(std::int32_t* where, std::int32_t value) {
#ifdef __CUDA_ARCH__
  return atomicExch(where, value);
#else
  return std::exchange(*where, value);
#endif
}

/// The body of a single block, launched at every step; it draws a new order only at the first step
/// of each epoch. Swaps are numbered from 1.
struct DrawOrder {
  const StepValues* step;
  SlicePosition position;
  std::uint64_t seed;
  std::int32_t count;
  std::int64_t* drawn;    ///< the epoch whose order is in `order`
  std::int32_t* order;    ///< [count]
  std::int32_t* heads;    ///< [count]: heads[p] is a swap with target p; 0: none
  std::int32_t* targets;  ///< [count + 1]: the target of each swap
  std::int32_t* links;    ///< [count + 1]: another swap with the same target; 0: none

  static constexpr int kThreads = 512;  ///< threads of the block

  __host__ __device__ void operator()(const Block& block) const {
    const std::int64_t epoch = position.epoch_of(step->step);
    if (*drawn == epoch) return;
    block.each([&](int thread) {
      for (std::int32_t place = thread; place < count; place += block.threads) heads[place] = 0;
    });
    block.each([&](int thread) {
      const RandomStream stream(seed, Purpose::Order, static_cast<std::uint32_t>(epoch));
      for (std::int32_t swap = thread + 1; swap <= count; swap += block.threads) {
        const auto index = static_cast<std::uint32_t>(swap);
        targets[swap] = static_cast<std::int32_t>(stream.below(index, index));
        links[swap] = exchange(heads + targets[swap], swap);
      }
    });
    block.each([&](int thread) {
      for (std::int32_t swap = thread + 1; swap <= count; swap += block.threads) {
        order[swap - 1] = taken_by(swap);
      }
    });
    block.each([&](int thread) {
      if (thread == 0) *drawn = epoch;
    });
  }

  /// Returns the number that `swap` moves to place `swap` - 1.
  __host__ __device__ std::int32_t taken_by(std::int32_t swap) const {
    std::int32_t place = targets[swap];
    for (;;) {
      const std::int32_t before = last_before(swap, place);
      if (before == 0) return place;
      swap = before;
      place = before - 1;
    }
  }

  /// Returns the last swap with target `target` that runs before `swap`; 0: none. Swaps run in
  /// descending order.
  __host__ __device__ std::int32_t last_before(std::int32_t swap, std::int32_t target) const {
    std::int32_t last = 0;
    for (std::int32_t other = heads[target]; other != 0; other = links[other]) {
      if (other > swap && (last == 0 || other < last)) last = other;
    }
    return last;
  }
};

}  // namespace regatta::cuda
