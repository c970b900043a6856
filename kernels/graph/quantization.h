// SPDX-License-Identifier: Apache-2.0
//
// Defines how quantize packs a tensor. The elements are divided, in order, into parts of equal
// size, and zeros fill the last ones. A part is a whole number of f32 words: a scale for each block
// of 256 elements, then the codes: signed integers of 8 or 4 bits, the first in the lowest bits. An
// element is code * scale; a block's scale is its largest magnitude divided by 127 or 7, and codes
// are rounded to the nearest integer, ties to even. A block with an infinity or NaN becomes NaN.
#pragma once

#include <cstdint>

namespace regatta {

inline constexpr std::int64_t kQuantizedBlock = 256;

/// One part of a packed tensor.
struct QuantizedPart {
  std::int64_t elements = 0;  ///< elements of each part
  std::int64_t bits = 8;      ///< bits of a code: 8 or 4

  std::int64_t blocks() const { return (elements + kQuantizedBlock - 1) / kQuantizedBlock; }
  std::int64_t words() const { return blocks() + (elements * bits + 31) / 32; }
};

/// The part of a tensor of `elements` elements that is divided into `parts`.
inline QuantizedPart quantized_part(std::int64_t elements, std::int64_t parts, std::int64_t bits) {
  return {.elements = (elements + parts - 1) / parts, .bits = bits};
}

/// The largest code of this many bits.
constexpr float largest_code(std::int64_t bits) { return bits == 8 ? 127 : 7; }

}  // namespace regatta
