// SPDX-License-Identifier: Apache-2.0
//
// Tokens that form chunks of a sequence, which are consecutive parts of equal length. rotary and
// attention read the chunks' numbers from attributes; without the attribute, the tokens are the
// whole sequence, as a single chunk.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/graph/attributes.h"

namespace regatta {

struct Chunks {
  std::vector<std::int64_t> numbers;
  std::int64_t length = 0;  ///< tokens of a chunk

  std::int64_t count() const { return static_cast<std::int64_t>(numbers.size()); }
  std::int64_t number(std::int64_t chunk) const { return numbers[static_cast<std::size_t>(chunk)]; }
  /// Returns the position in the whole sequence.
  std::int64_t position(std::int64_t token) const {
    return number(token / length) * length + token % length;
  }
};

/// Returns the chunks of `tokens` tokens, whose numbers the attribute `name` lists.
inline Chunks chunks_of(const Attributes& attributes, std::string_view name, std::int64_t tokens) {
  std::vector<std::int64_t> numbers{0};
  if (attributes.has(name)) numbers = attributes.integers(name);
  const auto count = static_cast<std::int64_t>(numbers.size());
  return {.numbers = std::move(numbers), .length = tokens / count};
}

}  // namespace regatta
