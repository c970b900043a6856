// SPDX-License-Identifier: Apache-2.0
//
// Runs loops on a lane's OpenMP threads. Each thread has one part of the work; the division depends
// only on positions, so that every run computes an element by the same arithmetic.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/runtime/parts.h"

namespace regatta::cpu {

/// Calls body(part) for part = 0 … parts - 1. A single part runs without OpenMP.
template <typename Body>
void parallel_parts(int parts, const Body& body) {
  if (parts == 1) {
    body(0);
    return;
  }
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part) body(part);
}

/// Calls body(begin, end) for `parts` consecutive ranges of [0, count), cut at multiples of a cache
/// line of f32.
template <typename Body>
void parallel_ranges(int parts, std::int64_t count, const Body& body) {
  constexpr std::int64_t kLine = 16;
  if (parts == 1) {
    body(std::int64_t{0}, count);
    return;
  }
  const std::int64_t size = ((count + parts - 1) / parts + kLine - 1) / kLine * kLine;
  parallel_parts(parts, [&](int part) {
    const std::int64_t begin = std::min(count, part * size);
    const std::int64_t end = std::min(count, begin + size);
    if (begin < end) body(begin, end);
  });
}

}  // namespace regatta::cpu
