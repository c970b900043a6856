// SPDX-License-Identifier: Apache-2.0
//
// Which elements may be among the few of largest magnitude: a sample gives a magnitude that a
// little more than those should have, and one pass finds all that have it.
#pragma once

#include <cstdint>
#include <vector>

namespace regatta::cpu {

inline constexpr std::uint32_t kMagnitude = 0x7fffffffU;  ///< of the bits of an f32

/// Elements by their bits.
struct Bits {
  const std::uint32_t* first = nullptr;
  std::int64_t count = 0;
};

class Candidates {
 public:
  /// Allocates; find() does not.
  Candidates(Bits x, std::int64_t selected);

  /// Whether the `selected` elements of largest magnitude are all among those found. Otherwise all
  /// of x has to be looked at: the sample has misled, too many are selected to gain by it, or there
  /// is no AVX-512.
  bool find();

  /// By ascending index.
  Bits bits() const { return {.first = bits_.data(), .count = count_}; }
  std::int64_t index(std::int64_t candidate) const {
    return indices_[static_cast<std::size_t>(candidate)];
  }

 private:
  std::int32_t magnitude_to_find();

  Bits x_;
  std::int64_t selected_;
  std::vector<std::int32_t> sample_;
  std::vector<std::uint32_t> bits_;
  std::vector<std::int32_t> indices_;
  std::int64_t count_ = 0;
};

}  // namespace regatta::cpu
