// SPDX-License-Identifier: Apache-2.0
//
// Divides the work of convolution_tiles.cpp so that reread data stays in the level-2 cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "kernels/cpu/amx.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu::tiles {

inline constexpr std::int64_t kImages = kTileTerms;  // images over which one product of tiles sums
inline constexpr std::int64_t kPair = 32;            // channels of two tiles
// Sums of 128 x 128 channels for 9 taps take 576 KiB per thread, the tiles from which they are
// computed at most 1 MiB; both stay in 2 MiB of level-2 cache.
inline constexpr std::int64_t kChunk = 128;
inline constexpr std::int64_t kBlockBytes = 1 << 20;

inline std::int64_t parts_of(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

struct GradientShape {
  std::int64_t batch, height, width, inputs;  ///< sizes of x
  std::int64_t rows, columns, outputs;        ///< sizes of dy
  std::int64_t kernel, padding;
};

inline GradientShape gradient_shape(const KernelRequest& request) {
  const TensorType& dy = request.inputs[0].type;
  const TensorType& x = request.inputs[1].type;
  return {.batch = x.dim(0),
          .height = x.dim(1),
          .width = x.dim(2),
          .inputs = x.dim(3),
          .rows = dy.dim(1),
          .columns = dy.dim(2),
          .outputs = dy.dim(3),
          .kernel = request.node.attributes.integer("kernel"),
          .padding = request.node.attributes.integer("padding")};
}

/// The division of the work into tasks and blocks. A task covers one chunk of input channels, one
/// chunk of output channels and one part of the groups of images, and converts and multiplies one
/// block at a time.
struct GradientPlan {
  std::int64_t groups;
  std::int64_t input_chunks, input_pairs;    ///< chunks; pairs of tiles in a chunk
  std::int64_t output_chunks, output_pairs;  ///< the same for outputs
  std::int64_t image_parts;
  std::int64_t block_rows;    ///< rows of dy in a block
  std::int64_t block_groups;  ///< groups in a block; above 1 only if a block has all rows
  std::int64_t slots;         ///< size of the ring of rows of x that a group keeps

  std::int64_t tasks() const { return input_chunks * output_chunks * image_parts; }
};

inline GradientPlan gradient_plan(const GradientShape& s, std::int64_t threads) {
  GradientPlan p{};
  p.groups = parts_of(s.batch, kImages);
  p.input_chunks = parts_of(s.inputs, kChunk);
  p.input_pairs = parts_of(parts_of(s.inputs, kPair), p.input_chunks);
  p.output_chunks = parts_of(s.outputs, kChunk);
  p.output_pairs = parts_of(parts_of(s.outputs, kPair), p.output_chunks);
  const std::int64_t chunks = p.input_chunks * p.output_chunks;
  p.image_parts = std::min(threads / std::gcd(threads, chunks), p.groups);

  const auto tile = static_cast<std::int64_t>(kTileBytes);
  const std::int64_t x_row = s.width * p.input_pairs * 2 * tile;
  const std::int64_t dy_row = s.columns * p.output_pairs * 2 * tile;
  const std::int64_t group = s.height * x_row + s.rows * dy_row;
  if (group <= kBlockBytes) {
    p.block_rows = s.rows;
    p.slots = s.height;
    const std::int64_t part = parts_of(p.groups, p.image_parts);
    p.block_groups = parts_of(part, parts_of(part, kBlockBytes / group));
  } else {
    const std::int64_t halo = (s.kernel - 1) * x_row;
    const std::int64_t fitting = std::max<std::int64_t>(1, (kBlockBytes - halo) / (x_row + dy_row));
    p.block_rows = parts_of(s.rows, parts_of(s.rows, fitting));
    p.slots = std::min(s.height, p.block_rows + s.kernel - 1);
    p.block_groups = 1;
  }
  return p;
}

}  // namespace regatta::cpu::tiles
