// SPDX-License-Identifier: Apache-2.0
//
// A histogram of time spans in constant memory: their number, sum and maximum, and counts in
// buckets on a logarithmic scale, eight per doubling. Below 8 ns a bucket is one nanosecond; above,
// bucket 8 (w - 3) + k holds [2^w + k 2^(w - 3), 2^w + (k + 1) 2^(w - 3)), where 2^w is the span's
// highest bit: a quantile is known to within 6 %.
// Threads: one thread adds; others may read when it has stopped.
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

  /// Adds a span; a negative one counts as 0. Units: nanoseconds.
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
  /// Makes a histogram from the counts, sum and maximum of another process's histogram.
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
  /// Returns the bucket of a span with the given bit width. For callers on a GPU, where
  /// std::bit_width returns 0.
  static constexpr std::size_t bucket_of(std::uint64_t span, int bit_width) {
    if (span < kPerDoubling) return span;
    const auto shift = static_cast<std::size_t>(bit_width - 4);
    return (shift + 1) * kPerDoubling + ((span >> shift) & (kPerDoubling - 1));
  }

  std::int64_t count() const { return count_; }
  std::int64_t sum() const { return sum_; }
  std::int64_t largest() const { return largest_; }
  const Counts& counts() const { return counts_; }

  /// Returns the q-quantile: the middle of the bucket that holds the span of rank q (count - 1),
  /// from 0. Returns 0 if the histogram is empty.
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
