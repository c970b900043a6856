// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/candidates.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/cpu/amx.h"

namespace regatta::cpu {
namespace {

constexpr std::int64_t kSample = 4096;
constexpr std::int64_t kLanes = 16;

/// Collects the elements of at least a magnitude, with their indices.
struct Finding {
  std::int32_t magnitude = 0;
  std::int64_t room = 0;
  std::uint32_t* bits = nullptr;
  std::int32_t* indices = nullptr;
  std::int64_t count = 0;

  bool is_full() const { return count + kLanes > room; }
  /// Collects from elements [begin, end) of x, at most kLanes.
  void look_at(Bits x, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      bits[count] = x.first[i];
      indices[count] = static_cast<std::int32_t>(i);
      count += static_cast<std::int32_t>(x.first[i] & kMagnitude) >= magnitude ? 1 : 0;
    }
  }
};

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq")
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))), \
                             apply_to = function)

/// Collects by vector instructions. Returns the index of the first element not looked at.
std::int64_t find_by_vector(Bits x, Finding& found) {
  const __m512i least = _mm512_set1_epi32(found.magnitude);
  const __m512i magnitudes = _mm512_set1_epi32(static_cast<int>(kMagnitude));
  __m512i indices = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  std::int64_t begin = 0;
  for (; begin + kLanes <= x.count && !found.is_full(); begin += kLanes) {
    const __m512i bits = _mm512_loadu_si512(x.first + begin);
    const __mmask16 large = _mm512_cmpge_epi32_mask(_mm512_and_si512(bits, magnitudes), least);
    _mm512_storeu_si512(found.bits + found.count, _mm512_maskz_compress_epi32(large, bits));
    _mm512_storeu_si512(found.indices + found.count, _mm512_maskz_compress_epi32(large, indices));
    found.count += __builtin_popcount(large);
    indices = _mm512_add_epi32(indices, _mm512_set1_epi32(kLanes));
  }
  return begin;
}

#pragma clang attribute pop
#pragma GCC pop_options

}  // namespace

Candidates::Candidates(Bits x, std::int64_t selected) : x_(x), selected_(selected) {
  if (!has_avx512() || x.count < 4 * kSample || x.count < 4 * selected) return;
  sample_.resize(kSample);
  bits_.resize(static_cast<std::size_t>(2 * selected + kSample));
  indices_.resize(bits_.size());
}

bool Candidates::find() {
  if (sample_.empty()) return false;
  Finding found{.magnitude = magnitude_to_find(),
                .room = static_cast<std::int64_t>(bits_.size()),
                .bits = bits_.data(),
                .indices = indices_.data()};
  const std::int64_t left = find_by_vector(x_, found);
  if (found.is_full()) return false;
  found.look_at(x_, left, x_.count);
  count_ = found.count;
  return count_ >= selected_;
}

/// A magnitude that in the sample is reached by as many elements as are expected to be selected,
/// plus four standard deviations.
std::int32_t Candidates::magnitude_to_find() {
  const std::int64_t stride = (x_.count / kSample - 1) | 1;  // odd, so that it reaches all channels
  for (std::int64_t i = 0; i < kSample; ++i) {
    sample_[static_cast<std::size_t>(i)] =
        static_cast<std::int32_t>(x_.first[i * stride] & kMagnitude);
  }
  const double expected = static_cast<double>(kSample * selected_) / static_cast<double>(x_.count);
  const auto nth = sample_.begin() + std::lround(expected + 4 * std::sqrt(expected) + 4);
  std::nth_element(sample_.begin(), nth, sample_.end(), std::greater<>());
  return *nth;
}

}  // namespace regatta::cpu
