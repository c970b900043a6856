// SPDX-License-Identifier: Apache-2.0
//
// How own loops use a lane's OpenMP threads: work is cut into as many parts as threads, by position
// alone, so that the same element is computed by the same arithmetic in every run.
#pragma once

#include <algorithm>
#include <cstdint>

namespace regatta::cpu {

/// Entering a parallel region costs about 2 us; 16 Ki elements of a memory-bound loop about as
/// much.
inline constexpr std::int64_t kParallelElements = 32768;

/// Into how many parts a loop over so many elements is cut.
inline int parts_for(int threads, std::int64_t elements) {
  return elements < kParallelElements ? 1 : threads;
}

/// body(part) for 0 … parts - 1. One part never enters OpenMP.
template <typename Body>
void parallel_parts(int parts, const Body& body) {
  if (parts == 1) {
    body(0);
    return;
  }
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part) body(part);
}

/// body(begin, end) for consecutive ranges of 0 … count, cut at cache lines of f32.
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
