// SPDX-License-Identifier: Apache-2.0
//
// Sums of many terms to one number, by one block. For .cu files only.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/launch.h"

namespace regatta::cuda {

inline constexpr int kTotalThreads = 512;

/// result = factor * sum of term(i), i < count, in one block: lanes in the order of i, then halves.
template <typename Term>
struct Total {
  Term term;
  std::int64_t count;
  double factor;
  float* result;

  __host__ __device__ void operator()(const Block& block) const {
    auto* sums = reinterpret_cast<double*>(block.shared);
    block.each([&](int thread) {
      double sum = 0;
      for (std::int64_t i = thread; i < count; i += block.threads) sum += term(i);
      sums[thread] = sum;
    });
    for (int middle = block.threads / 2; middle > 0; middle /= 2) {
      block.each([&](int thread) {
        if (thread < middle) sums[thread] += sums[thread + middle];
      });
    }
    block.each([&](int thread) {
      if (thread == 0) *result = static_cast<float>(factor * sums[0]);
    });
  }
};

template <typename Term>
void enqueue_total(Queue& queue, const Total<Term>& total) {
  for_each_block(queue, 1, kTotalThreads, kTotalThreads * sizeof(double), total);
}

struct FloatAt {
  const float* from;
  __host__ __device__ double operator()(std::int64_t i) const {
    return static_cast<double>(from[i]);
  }
};

}  // namespace regatta::cuda
