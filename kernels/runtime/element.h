// SPDX-License-Identifier: Apache-2.0
//
// Loads and stores of f32 and bf16 elements for loops on the host. Loops compute in f32; a store to
// bf16 rounds. Compilers vectorise these functions, and every processor runs them.
#pragma once

#include <bit>
#include <cstdint>

namespace regatta {

/// A bf16 number: the upper 16 bits of an f32.
struct Bf16 {
  std::uint16_t bits;
  bool operator==(const Bf16&) const = default;
};

inline float load(float value) { return value; }
inline float load(Bf16 value) { return std::bit_cast<float>(std::uint32_t{value.bits} << 16); }

inline void store(float& target, float value) { target = value; }
/// Rounds to nearest, ties to even; a NaN stays a NaN.
inline void store(Bf16& target, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  // Rounding could carry a NaN's mantissa over into an infinity.
  const std::uint32_t quiet = (bits >> 16) | 0x40U;
  const bool nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
  target.bits = static_cast<std::uint16_t>(nan ? quiet : rounded);
}

}  // namespace regatta
