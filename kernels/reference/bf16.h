// SPDX-License-Identifier: Apache-2.0
//
// bfloat16: the upper half of an f32 (1 sign, 8 exponent, 7 mantissa bits).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace regatta::reference {

inline float from_bf16(std::uint16_t value) {
  return std::bit_cast<float>(std::uint32_t{value} << 16);
}

/// Rounds to nearest, ties to an even mantissa; overflow becomes infinity; a NaN stays a NaN and is
/// made quiet.
inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  // Rounding could carry a NaN's mantissa over into infinity or zero.
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  const std::uint32_t last_kept_bit = (bits >> 16) & 1U;
  return static_cast<std::uint16_t>((bits + 0x7FFFU + last_kept_bit) >> 16);
}

}  // namespace regatta::reference
