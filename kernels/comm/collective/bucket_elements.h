// SPDX-License-Identifier: Apache-2.0
//
// A bucket is what members of a collective have in common: tensors, one behind the other.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/graph/error.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

/// -1 where they are not f32.
inline std::int64_t bucket_elements(std::span<const Tensor> bucket) {
  std::int64_t elements = 0;
  for (const Tensor& tensor : bucket) {
    if (tensor.type.element != ElementType::F32) return -1;
    check(tensor.f32() == bucket[0].f32() + elements, "a bucket is contiguous");
    elements += tensor.elements();
  }
  return elements;
}

}  // namespace regatta
