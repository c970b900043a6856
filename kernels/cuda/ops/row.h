// SPDX-License-Identifier: Apache-2.0
//
// Kernels in which each block has one row: launches, loops over the columns, sums. For .cu files
// only.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/launch.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {

/// Returns the number of threads for a row: a power of two, about one for four columns.
inline int threads_for_row(std::int64_t columns) {
  int threads = 32;
  while (threads < 256 && 4 * threads < columns) threads *= 2;
  return threads;
}

/// Calls visit(column) for each column of the block's row.
template <typename Visit>
__host__ __device__ void each_column(const Block& block, std::int64_t columns, const Visit& visit) {
  block.each([&](int thread) {
    for (std::int64_t c = thread; c < columns; c += block.threads) visit(c);
  });
}

/// Returns the sum of term(i), i < count, to all threads, whose number is a power of two: first
/// each thread's terms in their order, then the threads by halves. `sums` is the block's memory for
/// one number of each thread; it must not be written again before the next each().
template <typename Number, typename Term>
__host__ __device__ Number sum_in_block(const Block& block, Number* sums, std::int64_t count,
                                        const Term& term) {
  block.each([&](int thread) {
    Number sum = 0;
    for (std::int64_t i = thread; i < count; i += block.threads) sum += term(i);
    sums[thread] = sum;
  });
  for (int middle = block.threads / 2; middle > 0; middle /= 2) {
    block.each([&](int thread) {
      if (thread < middle) sums[thread] += sums[thread + middle];
    });
  }
  return sums[0];
}

/// Launches the body for each row of `body.columns` columns, with memory for two sums of f32.
template <typename Body>
void for_each_row(Queue& queue, std::int64_t rows, const Body& body) {
  const int threads = threads_for_row(body.columns);
  const auto bytes = 2 * static_cast<std::size_t>(threads) * sizeof(float);
  for_each_block(queue, rows, threads, bytes, body);
}

/// Returns a kernel that runs for_each_row().
template <typename Body>
KernelPointer launch_rows(const KernelRequest& request, std::int64_t rows, const Body& body) {
  Queue* queue = &queue_of(request);
  return make_kernel([=](const StepContext&) { for_each_row(*queue, rows, body); });
}

}  // namespace regatta::cuda
