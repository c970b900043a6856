// SPDX-License-Identifier: Apache-2.0
//
// Finds the elements that may be among the few of largest magnitude: a sample gives a magnitude
// that a few more elements than those should reach, and one pass finds all that reach it.
#pragma once

#include <cstdint>
#include <vector>

namespace regatta::cpu {

inline constexpr std::uint32_t kMagnitude = 0x7fffffffU;  ///< mask of a magnitude in an f32's bits

/// Elements as the bits of f32.
struct Bits {
  const std::uint32_t* first = nullptr;
  std::int64_t count = 0;
};

class Candidates {
 public:
  /// Allocates memory; find() does not.
  Candidates(Bits x, std::int64_t selected);

  /// Whether the candidates include all `selected` elements of largest magnitude. If false, search
  /// all of x: the sample was misleading, too many are selected for a gain, or there is no AVX-512.
  bool find();

  /// The candidates, by ascending index.
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
