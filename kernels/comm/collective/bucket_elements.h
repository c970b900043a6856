// SPDX-License-Identifier: Apache-2.0
//
// A bucket is what an all_reduce sums: its inputs, which lie one behind the other.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/graph/error.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

/// Of the bucket that the inputs are; -1 where they are not f32.
inline std::int64_t bucket_elements(std::span<const Tensor> inputs) {
  std::int64_t elements = 0;
  for (const Tensor& input : inputs) {
    if (input.type.element != ElementType::F32) return -1;
    check(input.f32() == inputs[0].f32() + elements, "a bucket is contiguous");
    elements += input.elements();
  }
  return elements;
}

}  // namespace regatta
