// SPDX-License-Identifier: Apache-2.0
//
// Adds buckets on the host, element by element and two buckets at a time. Sums are computed in f32
// and, if the bucket is bf16, rounded to nearest (ties to even), so a bf16 sum over n members is
// rounded n - 1 times.
#pragma once

#include <cstdint>

#include "kernels/base/error.h"
#include "kernels/graph/tensor_type.h"
#include "kernels/runtime/element.h"

namespace regatta::comm {

/// Whether the host can add elements of this type.
inline bool is_summed(ElementType element) {
  return element == ElementType::F32 || element == ElementType::BF16;
}

template <typename T>
void add_elements(T* sum, const T* part, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) store(sum[i], load(sum[i]) + load(part[i]));
}

/// Adds `part` to `sum`, both of `count` elements: sum[i] += part[i].
inline void add_elements(ElementType element, void* sum, const void* part, std::int64_t count) {
  check(is_summed(element), "sums are of f32 or bf16");
  if (element == ElementType::F32) {
    add_elements(static_cast<float*>(sum), static_cast<const float*>(part), count);
  } else {
    add_elements(static_cast<Bf16*>(sum), static_cast<const Bf16*>(part), count);
  }
}

}  // namespace regatta::comm
