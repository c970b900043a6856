// SPDX-License-Identifier: Apache-2.0
//
// The tiles of a batch of images, divided among threads in blocks that fit in a core's cache
// (convolution_winograd.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/winograd_tiles.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu::winograd {

// Size of a block's points and products. Larger blocks do not stay in a core's cache; smaller ones
// make each product less efficient.
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
    std::int64_t image, row, column;  ///< position of the tile's first pixel
  };
  Tile at(std::int64_t index) const {
    const std::int64_t in_image = index % (down * across);
    return {index / (down * across), in_image / across * kTile, in_image % across * kTile};
  }

  /// Returns the part that lies inside the image of a square with sides of `reach` pixels, which
  /// begins `before` pixels above and left of the tile.
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

/// Images that are transformed to points or computed from them.
struct Images {
  Tensor tensor;
  std::int64_t channels() const { return tensor.type.dim(3); }
  std::int64_t line() const { return tensor.type.dim(2) * channels(); }
  /// Returns the address of the pixel that is `before` pixels above and left of a tile; it may lie
  /// outside the image.
  template <typename T>
  T* corner(const Tiles::Tile& tile, std::int64_t before) const {
    const std::int64_t row = tile.image * tensor.type.dim(1) + tile.row - before;
    return tensor.as<T>() + row * line() + (tile.column - before) * channels();
  }
};

inline std::int64_t quotient_up(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

/// Divides tiles into blocks whose sizes differ by at most one, the same number of blocks for each
/// thread.
struct Blocks {
  /// `wanted` is the desired number of tiles in a block.
  Blocks(std::int64_t tile_count, int thread_count, std::int64_t wanted)
      : tiles(tile_count),
        threads(thread_count),
        each(quotient_up(quotient_up(tiles, threads), wanted)) {}

  /// Returns the number of rows of a block's matrices: the tiles of the largest block, made odd so
  /// that the 36 matrices, a multiple of the channels apart, do not fall into the same few cache
  /// sets.
  std::int64_t rows() const { return quotient_up(tiles, each * threads) | 1; }

  /// Calls body(tiles) for each block of tiles that the thread has, in order.
  template <typename Body>
  void for_each_of(int thread, const Body& body) const {
    for (std::int64_t block = 0; block < each; ++block) {
      body(share(tiles, each * threads, thread * each + block));
    }
  }

  std::int64_t tiles;
  int threads;
  std::int64_t each;  ///< blocks per thread
};

/// Returns the number of tiles in a block: as many as fit in a core's cache, but enough that a
/// block's fixed memory traffic (`others` elements for each point) is at most that of its tiles
/// (`channels` elements for each point and tile).
inline std::int64_t tiles_of_a_block(std::int64_t channels, std::int64_t others) {
  const std::int64_t near = kBlockBytes / (kPoints * channels * std::int64_t{sizeof(float)});
  return std::max({kFewestTiles, near, others / channels});
}

}  // namespace regatta::cpu::winograd
