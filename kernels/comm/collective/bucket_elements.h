// SPDX-License-Identifier: Apache-2.0
//
// Views a bucket as a single tensor. A bucket is the memory that a collective exchanges: tensors of
// one element type, contiguous and in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kernels/base/error.h"
#include "kernels/comm/collective/element_sums.h"
#include "kernels/runtime/kernel.h"

namespace regatta::comm {

/// Returns the whole bucket as one tensor with one dimension; empty if its types differ or the host
/// cannot sum them.
inline std::optional<Tensor> whole_of(std::span<const Tensor> bucket) {
  const ElementType element = bucket[0].type.element;
  const bool alike = std::all_of(bucket.begin(), bucket.end(), [element](const Tensor& tensor) {
    return tensor.type.element == element;
  });
  if (!alike || !is_summed(element)) return std::nullopt;
  std::int64_t bytes = 0;
  for (const Tensor& tensor : bucket) {
    check(tensor.as<std::byte>() == bucket[0].as<std::byte>() + bytes, "a bucket is contiguous");
    bytes += tensor.type.bytes();
  }
  return Tensor{.type = {element, {bytes / size_of(element)}}, .data = bucket[0].data};
}

}  // namespace regatta::comm
