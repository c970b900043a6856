// SPDX-License-Identifier: Apache-2.0
//
// Sweeps over rows of C channels. A row of few channels would leave most of a vector register
// empty, so several rows are treated as one wide row; per-channel constants are repeated over its
// width.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "kernels/cpu/buffer.h"

namespace regatta::cpu {

struct WideRow {
  /// Least widths of a wide row, in elements. kMinimum is four AVX-512 registers: enough
  /// independent sums to hide the latency of an addition. kMinimumOfFew is one register, for fewer
  /// than kFew elements, where adding up more lanes would take longer than filling them.
  static constexpr std::int64_t kMinimum = 64;
  static constexpr std::int64_t kMinimumOfFew = 16;
  static constexpr std::int64_t kFew = 4096;

  WideRow(std::int64_t channel_count, std::int64_t elements)
      : channels(channel_count),
        repeat((std::max(elements < kFew ? kMinimumOfFew : kMinimum, channel_count) +
                channel_count - 1) /
               channel_count),
        width(channels * repeat) {}

  /// Returns a wide row that fills whole AVX-512 registers, at least four.
  static WideRow of_registers(std::int64_t channel_count) {
    constexpr std::int64_t kRegister = 16;
    const std::int64_t step = kRegister / std::gcd(channel_count, kRegister);
    const std::int64_t least = step * channel_count;
    WideRow row(channel_count, kFew);
    row.repeat = (kMinimum + least - 1) / least * step;
    row.width = row.repeat * channel_count;
    return row;
  }

  std::int64_t channels;
  std::int64_t repeat;
  std::int64_t width;  ///< elements: channels * repeat
};

/// Fills the row.width elements of `values` with copies of the first row.channels elements.
inline void repeat_channels(const WideRow& row, float* values) {
  // Doubling copies many values at once, so that none waits for the store of a single one.
  for (std::int64_t done = row.channels; done < row.width; done *= 2) {
    std::copy_n(values, std::min(done, row.width - done), values + done);
  }
}

/// Calls body(offset, count) for each wide row of elements [begin, end); the last may be shorter.
template <typename Body>
void for_each_wide_row(const WideRow& row, std::int64_t begin, std::int64_t end, const Body& body) {
  std::int64_t offset = begin;
  for (; offset + row.width <= end; offset += row.width) body(offset, row.width);
  if (offset < end) body(offset, end - offset);
}

/// Computes kTerms sums for each channel: in f32 within a block of rows, short enough for f32's
/// precision, and in double over the blocks. The order of additions depends only on the range.
template <std::size_t kTerms>
class ChannelSums {
 public:
  explicit ChannelSums(const WideRow& row)
      : row_(row),
        lanes_(make_buffer<float>(kTerms * static_cast<std::size_t>(row.width))),
        totals_(make_buffer<double>(kTerms * static_cast<std::size_t>(row.channels))) {}

  void clear() {
    std::fill_n(totals_.get(), kTerms * static_cast<std::size_t>(row_.channels), 0.0);
  }

  /// Like add(), after setting the sums to zero.
  template <typename Body>
  void sweep(std::int64_t begin, std::int64_t end, const Body& body) {
    clear();
    add(begin, end, body);
  }

  /// Adds elements [begin, end), which are whole rows, to the sums. body(offset, count, sums) adds
  /// elements [offset, offset + count) to sums[term * row.width + lane].
  template <typename Body>
  void add(std::int64_t begin, std::int64_t end, const Body& body) {
    const std::int64_t block = kBlockRows * row_.width;
    for (std::int64_t start = begin; start < end; start += block) {
      std::fill_n(lanes_.get(), kTerms * static_cast<std::size_t>(row_.width), 0.0F);
      for_each_wide_row(row_, start, std::min(end, start + block),
                        [&](auto offset, auto count) { body(offset, count, lanes_.get()); });
      fold();
    }
  }

  const double* totals(std::size_t term) const {
    return totals_.get() + term * static_cast<std::size_t>(row_.channels);
  }

 private:
  static constexpr std::int64_t kBlockRows = 64;

  void fold() {
    for (std::size_t term = 0; term < kTerms; ++term) {
      const float* lanes = lanes_.get() + term * static_cast<std::size_t>(row_.width);
      double* totals = totals_.get() + term * static_cast<std::size_t>(row_.channels);
      for (std::int64_t start = 0; start < row_.width; start += row_.channels) {
#pragma omp simd
        for (std::int64_t c = 0; c < row_.channels; ++c) {
          totals[c] += static_cast<double>(lanes[start + c]);
        }
      }
    }
  }

  WideRow row_;
  Buffer<float> lanes_;
  Buffer<double> totals_;
};

}  // namespace regatta::cpu
