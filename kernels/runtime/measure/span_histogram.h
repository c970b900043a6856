// SPDX-License-Identifier: Apache-2.0
//
// Spans of time in constant memory: their number, sum and maximum, and counts in buckets of a
// logarithmic scale, eight a doubling. Below 8 ns a bucket is one nanosecond; from there on bucket
// 8 (w - 3) + k holds [2^w + k 2^(w - 3), 2^w + (k + 1) 2^(w - 3)), where 2^w is the span's highest
// bit: a quantile is known to within 6 %.
// Threads: one adds; others read when it has stopped.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace regatta {

class SpanHistogram {
 public:
  static constexpr std::size_t kPerDoubling = 8;
  static constexpr std::size_t kBuckets = 61 * kPerDoubling;
  using Counts = std::array<std::uint32_t, kBuckets>;

  /// Units: nanoseconds; a negative span counts as 0.
  void add(std::int64_t ns) {
    const auto span = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
    ++counts_[bucket_of(span)];
    ++count_;
    sum_ += static_cast<std::int64_t>(span);
    largest_ = std::max(largest_, static_cast<std::int64_t>(span));
  }
  void add(const SpanHistogram& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    largest_ = std::max(largest_, other.largest_);
  }
  /// A histogram from the counts of another process.
  static SpanHistogram of(const Counts& counts, std::int64_t sum, std::int64_t largest) {
    SpanHistogram histogram;
    histogram.counts_ = counts;
    for (std::uint32_t count : counts) histogram.count_ += count;
    histogram.sum_ = sum;
    histogram.largest_ = largest;
    return histogram;
  }

  static constexpr std::size_t bucket_of(std::uint64_t span) {
    return bucket_of(span, std::bit_width(span));
  }
  /// For callers that cannot use std::bit_width, which returns 0 on a GPU.
  static constexpr std::size_t bucket_of(std::uint64_t span, int bit_width) {
    if (span < kPerDoubling) return span;
    const auto shift = static_cast<std::size_t>(bit_width - 4);
    return (shift + 1) * kPerDoubling + ((span >> shift) & (kPerDoubling - 1));
  }

  std::int64_t count() const { return count_; }
  std::int64_t sum() const { return sum_; }
  std::int64_t largest() const { return largest_; }
  const Counts& counts() const { return counts_; }

  /// The middle of the bucket that holds the span of rank q (count - 1); 0 if there is none.
  std::int64_t quantile(double q) const {
    const auto rank = static_cast<std::int64_t>(q * static_cast<double>(count_ - 1));
    std::int64_t before = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      before += counts_[i];
      if (before > rank) return std::min(middle_of(i), largest_);
    }
    return largest_;
  }

 private:
  static std::int64_t middle_of(std::size_t bucket) {
    if (bucket < 2 * kPerDoubling) return static_cast<std::int64_t>(bucket);
    const std::size_t shift = bucket / kPerDoubling - 1;
    const auto begin = static_cast<std::int64_t>((kPerDoubling + bucket % kPerDoubling) << shift);
    return begin + (std::int64_t{1} << (shift - 1));
  }

  Counts counts_{};  ///< up to 2^32 - 1 each
  std::int64_t count_ = 0;
  std::int64_t sum_ = 0;
  std::int64_t largest_ = 0;
};

}  // namespace regatta
