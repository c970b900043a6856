// SPDX-License-Identifier: Apache-2.0
//
// Preselects candidates for the elements of largest magnitude: from a sample, estimates a magnitude
// that slightly more elements than needed should reach, then collects in one pass all elements that
// do reach it.
#pragma once

#include <cstdint>
#include <vector>

namespace regatta::cpu {

inline constexpr std::uint32_t kMagnitude = 0x7fffffffU;  ///< mask of a magnitude in an f32's bits

/// f32 elements, given as their bits.
struct Bits {
  const std::uint32_t* first = nullptr;
  std::int64_t count = 0;
};

class Candidates {
 public:
  /// Prepares to find the `selected` elements of largest magnitude in x. Allocates all memory, so
  /// that find() allocates none.
  Candidates(Bits x, std::int64_t selected);

  /// Collects the candidates. Returns whether they include all `selected` elements of largest
  /// magnitude. If not, search all of x: the sample was misleading, too many elements are selected
  /// to gain anything, or there is no AVX-512.
  bool find();

  /// Returns the candidates' bits, in the order of their indices in x.
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
