// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/guard/finite.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace regatta {
namespace {

constexpr std::int64_t kBlock = 4096;  // elements between two looks at the result
constexpr std::int64_t kFew = 16;      // below this, vectors cost more than they save

/// `exponent`: mask of the exponent's bits, which are all ones in infinities and NaNs.
template <typename Bits, typename Element>
bool no_exponent_is_full(const Element* elements, std::int64_t count, Bits exponent) {
  const auto is_full = [=](std::int64_t i) {
    return (std::bit_cast<Bits>(elements[i]) & exponent) == exponent;
  };
  if (count < kFew) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (is_full(i)) return false;
    }
    return true;
  }
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t end = std::min(count, begin + kBlock);
    int full = 0;
#pragma omp simd reduction(| : full)
    for (std::int64_t i = begin; i < end; ++i) {
      full |= static_cast<int>(is_full(i));
    }
    if (full != 0) return false;
  }
  return true;
}

}  // namespace

bool all_finite(const Tensor& tensor) {
  switch (tensor.type.element) {
    case ElementType::F32:
      return no_exponent_is_full<std::uint32_t>(tensor.f32(), tensor.elements(), 0x7F80'0000);
    case ElementType::BF16:
      return no_exponent_is_full<std::uint16_t>(tensor.as<std::uint16_t>(), tensor.elements(),
                                                0x7F80);
    default: return true;
  }
}

}  // namespace regatta
