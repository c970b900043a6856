// SPDX-License-Identifier: Apache-2.0
//
// Divides a kernel over x [groups, rows, channels] among blocks, and sums over rows. A group is cut
// into slices of rows and tiles of channels; a block takes one slice of one tile. A thread keeps to
// kWidth neighbouring channels, so that it reads their constants once, and takes the rows lane,
// lane + lanes, ... of the slice; neighbouring threads read neighbouring channels. The cut depends
// on the group's shape only, so a group's sums have the same bits for any number of groups and on
// every GPU. Order of addition:
//   a thread's rows in f32, in their order;  lanes in f32, by halves;  slices in double (merge).
// For .cu files only.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/device/phases.h"
#include "kernels/cuda/ops/element.h"

namespace regatta::cuda {

inline constexpr int kSweepThreads = 256;
inline constexpr int kRowsAtOnce = 2;   ///< rows that a thread reads before it uses the first
inline constexpr int kPairsAtOnce = 1;  ///< the same for two tensors

/// The rows and channels of one thread.
struct SweepShare {
  std::int64_t group = 0;
  std::int64_t slice = 0;
  std::int64_t channel = 0;  ///< the first of kWidth
  std::int64_t begin = 0;    ///< rows begin, begin + lanes, … below `end`
  std::int64_t end = 0;
};

struct Sweep {
  /// `width` is the number of channels of a thread; it must divide `channel_count`.
  Sweep(std::int64_t group_count, std::int64_t rows_of_group, std::int64_t channel_count, int width)
      : groups(group_count), rows(rows_of_group), channels(channel_count) {
    const std::int64_t all = channels / width;
    tiles = static_cast<std::uint32_t>((all + kMaxColumns - 1) / kMaxColumns);
    columns = static_cast<std::uint32_t>((all + tiles - 1) / tiles);
    lanes = static_cast<std::uint32_t>(kSweepThreads) / columns;
    const std::int64_t turns =
        std::clamp<std::int64_t>(rows * tiles / (lanes * kManyBlocks), 1, kTurns);
    const std::int64_t turn = lanes * turns;
    slices = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>((rows + turn - 1) / turn, 1, kMaxSlices));
    slice_rows = (rows + slices - 1) / slices;
  }

  std::int64_t blocks() const { return groups * slices * tiles; }

  template <int kWidth>
  __host__ __device__ SweepShare share(std::int64_t block, int thread) const {
    // Blocks of a launch are fewer than 2^31, and 32-bit division is far cheaper.
    const auto index = static_cast<std::uint32_t>(block);
    const auto lane = static_cast<std::uint32_t>(thread) / columns;
    const std::uint32_t column =
        index % tiles * columns + static_cast<std::uint32_t>(thread) % columns;
    SweepShare mine{.group = index / tiles / slices,
                    .slice = index / tiles % slices,
                    .channel = static_cast<std::int64_t>(column) * kWidth};
    mine.begin = mine.slice * slice_rows + lane;
    const std::int64_t end = (mine.slice + 1) * slice_rows;
    if (lane < lanes && mine.channel < channels) mine.end = end < rows ? end : rows;
    return mine;
  }

  /// Calls visit(row) for the rows of the share.
  template <typename Visit>
  __host__ __device__ void for_each_row(const SweepShare& mine, const Visit& visit) const {
    for (std::int64_t row = mine.begin; row < mine.end; row += lanes) visit(row);
  }

  /// Calls use(row, load(row)) for the rows of the share, in order. Loads kAtOnce rows before it
  /// uses the first of them, so that a thread waits for memory once for kAtOnce rows.
  template <int kAtOnce, typename Load, typename Use>
  __host__ __device__ void for_each_loaded(const SweepShare& mine, const Load& load,
                                           const Use& use) const {
    const auto step = static_cast<std::int64_t>(lanes);
    for (std::int64_t row = mine.begin; row < mine.end; row += kAtOnce * step) {
      decltype(load(row)) loaded[kAtOnce] = {};
      for (int k = 0; k < kAtOnce; ++k) {
        if (row + k * step < mine.end) loaded[k] = load(row + k * step);
      }
      for (int k = 0; k < kAtOnce; ++k) {
        if (row + k * step < mine.end) use(row + k * step, loaded[k]);
      }
    }
  }

  /// Returns the index in x of the share's first channel in row `row` of its group.
  __host__ __device__ std::int64_t offset(const SweepShare& mine, std::int64_t row) const {
    return (mine.group * rows + row) * channels + mine.channel;
  }

  static constexpr std::int64_t kMaxColumns = 32;
  static constexpr std::int64_t kTurns = 8;        ///< rows of a thread, fewer for more blocks
  static constexpr std::int64_t kManyBlocks = 32;  ///< for one of several groups
  static constexpr std::int64_t kMaxSlices = 1024;

  std::int64_t groups;
  std::int64_t rows;  ///< rows of a group
  std::int64_t channels;
  std::uint32_t tiles = 1;
  std::uint32_t columns = 1;  ///< columns of a tile; a column is one thread's channels
  std::uint32_t lanes = 1;    ///< rows that a block reads at once
  std::uint32_t slices = 1;
  std::int64_t slice_rows = 0;
};

/// Computes kSums sums over the rows of each slice: `partial` is f32 [groups, slices, kSums,
/// channels].
template <int kSums, int kWidth>
struct SliceSums {
  Sweep sweep;
  float* partial;

  static constexpr std::size_t kSharedBytes = kSums * kWidth * kSweepThreads * sizeof(float);
  static std::int64_t partial_bytes(const Sweep& sweep) {
    return sweep.groups * sweep.slices * kSums * sweep.channels *
           static_cast<std::int64_t>(sizeof(float));
  }

  /// Calls add(share, sums) in each thread that has rows; add() must add these rows to `sums`. All
  /// threads of the block call this function.
  template <typename Add>
  __host__ __device__ void sum(const Block& block, const Add& add) const {
    block.each([&](int thread) {
      const SweepShare mine = sweep.template share<kWidth>(block.index, thread);
      float sums[kSums][kWidth] = {};
      if (mine.begin < mine.end) add(mine, sums);
      leave(block, thread, sums);
    });
    finish(block);
  }

 private:
  /// Stores a thread's sums. Called inside each().
  __host__ __device__ void leave(const Block& block, int thread,
                                 const float (&sums)[kSums][kWidth]) const {
    float* shared = reinterpret_cast<float*>(block.shared);
    for (int k = 0; k < kSums; ++k) {
      for (int j = 0; j < kWidth; ++j) {
        shared[(k * kWidth + j) * kSweepThreads + thread] = sums[k][j];
      }
    }
  }

  /// Adds up the lanes and stores the result. Called by the whole block after leave().
  __host__ __device__ void finish(const Block& block) const {
    float* shared = reinterpret_cast<float*>(block.shared);
    for (std::uint32_t left = sweep.lanes; left > 1; left = (left + 1) / 2) {
      block.each([&](int thread) {
        const std::uint32_t middle = (left + 1) / 2;
        const auto lane = static_cast<std::uint32_t>(thread) / sweep.columns;
        if (lane + middle >= left) return;
        for (int i = 0; i < kSums * kWidth; ++i) {
          float* sum = shared + i * kSweepThreads + thread;
          *sum += sum[middle * sweep.columns];
        }
      });
    }
    block.each([&](int thread) {
      const SweepShare mine = sweep.template share<kWidth>(block.index, thread);
      if (static_cast<std::uint32_t>(thread) >= sweep.columns || mine.channel >= sweep.channels) {
        return;
      }
      float* to = partial + (mine.group * sweep.slices + mine.slice) * kSums * sweep.channels;
      for (int i = 0; i < kSums * kWidth; ++i) {
        to[i / kWidth * sweep.channels + mine.channel + i % kWidth] =
            shared[i * kSweepThreads + thread];
      }
    });
  }
};

/// Body that adds up the slices of each group and channel in double and calls finish(group,
/// channel, sums) once for each group and channel.
template <int kSums, typename Finish>
struct MergeSlices {
  static constexpr int kChannels = 8;  ///< channels of a block: one sector of memory
  static constexpr int kLanes = kSweepThreads / kChannels;
  static constexpr std::size_t kSharedBytes = kSums * kSweepThreads * sizeof(double);

  const float* partial;
  std::int64_t slices;
  std::int64_t channels;
  std::int64_t chunks;  ///< chunks of kChannels channels
  Finish finish;

  __host__ __device__ void operator()(const Block& block) const {
    double* shared = reinterpret_cast<double*>(block.shared);
    const std::int64_t group = block.index / chunks;
    const std::int64_t first = block.index % chunks * kChannels;
    block.each([&](int thread) {
      const std::int64_t channel = first + thread % kChannels;
      double sums[kSums] = {};
      for (std::int64_t slice = thread / kChannels; slice < slices && channel < channels;
           slice += kLanes) {
        const float* from = partial + (group * slices + slice) * kSums * channels + channel;
        for (int k = 0; k < kSums; ++k) sums[k] += static_cast<double>(from[k * channels]);
      }
      for (int k = 0; k < kSums; ++k) shared[k * kSweepThreads + thread] = sums[k];
    });
    for (int middle = kSweepThreads / 2; middle >= kChannels; middle /= 2) {
      block.each([&](int thread) {
        if (thread >= middle) return;
        for (int k = 0; k < kSums; ++k) {
          shared[k * kSweepThreads + thread] += shared[k * kSweepThreads + thread + middle];
        }
      });
    }
    block.each([&](int thread) {
      if (thread >= kChannels || first + thread >= channels) return;
      double sums[kSums];
      for (int k = 0; k < kSums; ++k) sums[k] = shared[k * kSweepThreads + thread];
      finish(group, first + thread, sums);
    });
  }
};

template <int kSums, typename Finish>
Phase<MergeSlices<kSums, Finish>> merge_slices(const Sweep& sweep, const float* partial,
                                               const Finish& finish) {
  using Body = MergeSlices<kSums, Finish>;
  const std::int64_t chunks = (sweep.channels + Body::kChannels - 1) / Body::kChannels;
  return {sweep.groups * chunks, Body{.partial = partial,
                                      .slices = sweep.slices,
                                      .channels = sweep.channels,
                                      .chunks = chunks,
                                      .finish = finish}};
}

/// Number of channels of a thread. Eight channels of bf16 would be one load of 16 bytes, but would
/// take twice the registers.
inline constexpr int kSweepWidth = 4;

/// Returns build(width), where `width` is the number of channels of a thread as a compile-time
/// constant: kSweepWidth if channels and addresses allow it, else 1.
template <typename Build>
auto with_width(std::int64_t channels, std::initializer_list<const void*> addresses,
                const Build& build) {
  if (channels % kSweepWidth == 0 && are_aligned(addresses)) {
    return build(std::integral_constant<int, kSweepWidth>{});
  }
  return build(std::integral_constant<int, 1>{});
}

}  // namespace regatta::cuda
