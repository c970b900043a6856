// SPDX-License-Identifier: Apache-2.0
//
// How the tiles of a batch of images are found and dealt to threads, in blocks that stay near a
// core (convolution_winograd.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/winograd_tiles.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu::winograd {

// Of a block's points and products together. More do not stay near the core; of fewer tiles each
// product is less efficient (convolution_bench.cpp).
inline constexpr std::int64_t kBlockBytes = 1 << 20;
inline constexpr std::int64_t kFewestTiles = 64;

/// All tiles of a batch of images, image by image, row by row.
struct Tiles {
  explicit Tiles(const TensorType& images)
      : height(images.dim(1)),
        width(images.dim(2)),
        down((height + kTile - 1) / kTile),
        across((width + kTile - 1) / kTile),
        count(images.dim(0) * down * across) {}

  struct Tile {
    std::int64_t image, row, column;  ///< of its first pixel
  };
  Tile at(std::int64_t index) const {
    const std::int64_t in_image = index % (down * across);
    return {index / (down * across), in_image / across * kTile, in_image % across * kTile};
  }

  /// Of `reach` pixels a side from `before` above and left of the tile on.
  Inside inside(const Tile& tile, std::int64_t before, std::int64_t reach) const {
    const auto clip = [&](std::int64_t first, std::int64_t extent) {
      return std::pair(static_cast<int>(std::max<std::int64_t>(0, before - first)),
                       static_cast<int>(std::min(reach, extent - first + before)));
    };
    const auto [top, bottom] = clip(tile.row, height);
    const auto [left, right] = clip(tile.column, width);
    return {top, bottom, left, right};
  }

  std::int64_t height, width;
  std::int64_t down, across;
  std::int64_t count;
};

/// Images whose channels are brought to points or come from them.
struct Images {
  Tensor tensor;
  std::int64_t channels() const { return tensor.type.dim(3); }
  std::int64_t line() const { return tensor.type.dim(2) * channels(); }
  /// The pixel where a tile begins, or would if the image went on `before` pixels up and left.
  template <typename T>
  T* corner(const Tiles::Tile& tile, std::int64_t before) const {
    const std::int64_t row = tile.image * tensor.type.dim(1) + tile.row - before;
    return tensor.as<T>() + row * line() + (tile.column - before) * channels();
  }
};

inline std::int64_t quotient_up(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

/// How a batch's tiles are dealt: as many blocks to each thread, of sizes that differ by one.
struct Blocks {
  /// `wanted`: tiles of a block.
  Blocks(std::int64_t tile_count, int thread_count, std::int64_t wanted)
      : tiles(tile_count),
        threads(thread_count),
        each(quotient_up(quotient_up(tiles, threads), wanted)) {}

  /// Of a block's matrices: those of the largest block, odd, so that the 36 matrices, which lie a
  /// multiple of the channels apart, do not meet in the same few sets of a cache.
  std::int64_t rows() const { return quotient_up(tiles, each * threads) | 1; }

  /// body(tiles) for the blocks of a thread, in order.
  template <typename Body>
  void for_each_of(int thread, const Body& body) const {
    for (std::int64_t block = 0; block < each; ++block) {
      body(share(tiles, each * threads, thread * each + block));
    }
  }

  std::int64_t tiles;
  int threads;
  std::int64_t each;  ///< of a thread
};

/// Tiles of a block: as many as stay near the core, and enough that what each block reads or
/// writes once, `others` for each of its points, does not take longer than its own points.
inline std::int64_t tiles_of_a_block(std::int64_t channels, std::int64_t others) {
  const std::int64_t near = kBlockBytes / (kPoints * channels * std::int64_t{sizeof(float)});
  return std::max({kFewestTiles, near, others / channels});
}

}  // namespace regatta::cpu::winograd
