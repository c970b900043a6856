// SPDX-License-Identifier: Apache-2.0
//
// Backward weights of a bf16 convolution with stride 1 by AMX:
//   dw[o,r,s,i] = sum over images b and pixels u, v of x[b, u+r-padding, v+s-padding, i]
//   dy[b,u,v,o]
// One product of tiles sums over 32 images at one pixel. A tap (r, s) therefore only selects which
// tile of x meets which tile of dy: values are not shifted inside a tile, and no product is spent
// on the border. Tiles of x (16 inputs x 32 images) are transposed from the images; tiles of dy (32
// images x 16 outputs) interleave pairs of images. Both are made for a block of rows at a time, so
// that they are reread from the level-2 cache. Unpacking permutes outputs within 32; write_out()
// undoes that. Sums are f32. Images are divided among threads only if channels are too few; their
// sums are added in order, so results depend at most on the number of threads.
#include <algorithm>
#include <atomic>

#include "kernels/cpu/buffer.h"
#include "kernels/cpu/convolution_paths.h"
#include "kernels/cpu/convolution_tiles_products.h"
#include "kernels/cpu/element.h"
#include "kernels/cpu/parallel.h"

namespace regatta::cpu {
namespace {

using namespace tiles;

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,amx-tile,amx-bf16")
#pragma clang attribute push(                                                        \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,amx-tile,amx-bf16"))), \
    apply_to = function)

class WeightGradient final : public Kernel {
 public:
  explicit WeightGradient(const KernelRequest& request)
      : shape_(gradient_shape(request)),
        plan_(gradient_plan(shape_, request.threads)),
        threads_(static_cast<int>(std::min<std::int64_t>(request.threads, plan_.tasks()))),
        dy_(request.inputs[0].as<std::uint16_t>()),
        x_(request.inputs[1].as<std::uint16_t>()),
        dw_(request.outputs[0].f32()) {
    const auto tile = static_cast<std::int64_t>(kTileBytes);
    x_row_ = plan_.input_pairs * 2 * shape_.width * tile;
    dy_row_ = plan_.output_pairs * 2 * shape_.columns * tile;
    x_bytes_ = plan_.block_groups * plan_.slots * x_row_;
    dy_bytes_ = plan_.block_groups * plan_.block_rows * dy_row_;
    blocks_ = make_buffer<std::byte>(static_cast<std::size_t>(threads_ * (x_bytes_ + dy_bytes_)));
    sums_size_ = shape_.kernel * shape_.kernel * plan_.input_pairs * plan_.output_pairs * 4 *
                 kTileSide * kTileSide;
    sums_ = make_buffer<float>(static_cast<std::size_t>(plan_.tasks() * sums_size_));
  }

  void run(const StepContext&) override {
    parallel_parts(threads_, [this](int thread) { multiply_tasks(thread); });
    parallel_parts(threads_, [this](int thread) { write_out(thread); });
  }

 private:
  /// Groups and rows of dy in a block, and the first channels of its chunk.
  struct Block {
    std::int64_t group, groups, row, rows;
    std::int64_t input, output;
    std::byte* x;
    std::byte* dy;
  };

  void multiply_tasks(int thread) {
    const Tiles tiles;
    for (std::int64_t task = thread; task < plan_.tasks(); task += threads_) {
      const std::int64_t part = task % plan_.image_parts, chunk = task / plan_.image_parts;
      Block block{};
      block.x = blocks_.get() + thread * (x_bytes_ + dy_bytes_);
      block.dy = block.x + x_bytes_;
      block.input = chunk % plan_.input_chunks * plan_.input_pairs * kPair;
      block.output = chunk / plan_.input_chunks * plan_.output_pairs * kPair;
      const std::int64_t begin = part * plan_.groups / plan_.image_parts;
      const std::int64_t end = (part + 1) * plan_.groups / plan_.image_parts;
      for (block.group = begin; block.group < end; block.group += plan_.block_groups) {
        block.groups = std::min(plan_.block_groups, end - block.group);
        multiply_rows(block, sums_.get() + task * sums_size_, block.group == begin);
      }
    }
  }

  void multiply_rows(Block block, float* sums, bool first) {
    std::int64_t converted = 0;
    for (block.row = 0; block.row < shape_.rows; block.row += plan_.block_rows) {
      block.rows = std::min(plan_.block_rows, shape_.rows - block.row);
      const std::int64_t needed =
          std::min(shape_.height, block.row + block.rows + shape_.kernel - 1 - shape_.padding);
      for (std::int64_t group = 0; group < block.groups; ++group) {
        for (std::int64_t h = converted; h < needed; ++h) convert_x(block, group, h);
        for (std::int64_t u = 0; u < block.rows; ++u) convert_dy(block, group, u);
      }
      converted = std::max(converted, needed);
      multiply_block(block, sums, first && block.row == 0);
    }
  }

  int images(const Block& block, std::int64_t group) const {
    return static_cast<int>(std::min(kImages, shape_.batch - (block.group + group) * kImages));
  }

  /// The tiles of a row of x. Shapes: [tile][column].
  std::byte* x_row(const Block& block, std::int64_t group, std::int64_t h) const {
    return block.x + (group * plan_.slots + h % plan_.slots) * x_row_;
  }

  /// The tiles of a row of dy. Shapes: [pair][column][2].
  std::byte* dy_row(const Block& block, std::int64_t group, std::int64_t u) const {
    return block.dy + (group * plan_.block_rows + u) * dy_row_;
  }

  void convert_x(const Block& block, std::int64_t group, std::int64_t h) {
    const std::int64_t image = shape_.height * shape_.width * shape_.inputs;
    const std::int64_t tile = shape_.width * static_cast<std::int64_t>(kTileBytes / 2);
    const std::uint16_t* from = x_ + (block.group + group) * kImages * image +
                                h * shape_.width * shape_.inputs + block.input;
    auto* to = reinterpret_cast<std::uint16_t*>(x_row(block, group, h));
    for (std::int64_t w = 0; w < shape_.width; ++w) {
      for (std::int64_t pair = 0; pair < plan_.input_pairs; ++pair) {
        std::uint16_t* tiles = to + 2 * pair * tile + w * static_cast<std::int64_t>(kTileBytes / 2);
        transpose_x(from + w * shape_.inputs + pair * kPair, image, images(block, group),
                    channels(shape_.inputs - block.input - pair * kPair), tiles, tiles + tile);
      }
    }
  }

  void convert_dy(const Block& block, std::int64_t group, std::int64_t u) {
    const std::int64_t image = shape_.rows * shape_.columns * shape_.outputs;
    const std::uint16_t* from = dy_ + (block.group + group) * kImages * image +
                                (block.row + u) * shape_.columns * shape_.outputs + block.output;
    auto* to = reinterpret_cast<std::uint16_t*>(dy_row(block, group, u));
    for (std::int64_t v = 0; v < shape_.columns; ++v) {
      for (std::int64_t pair = 0; pair < plan_.output_pairs; ++pair) {
        interleave_dy(from + v * shape_.outputs + pair * kPair, image, images(block, group),
                      channels(shape_.outputs - block.output - pair * kPair),
                      to + (pair * shape_.columns + v) * static_cast<std::int64_t>(kTileBytes));
      }
    }
  }

  static __mmask32 channels(std::int64_t left) {
    return first_of_32(std::clamp<std::int64_t>(left, 0, kPair));
  }

  void multiply_block(const Block& block, float* sums, bool first) {
    // Tile loads are assembler, which the compiler does not treat as reads.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    for (std::int64_t pair = 0; pair < plan_.output_pairs; ++pair) {
      for (std::int64_t tile = 0; tile < 2 * plan_.input_pairs; ++tile) {
        if (block.input + tile * kTileSide >= shape_.inputs) continue;
        for (std::int64_t r = 0; r < shape_.kernel; ++r) {
          float* at = sums + sums_index(r, tile, pair);
          if (shape_.kernel == 3) {
            accumulate<3>(block, {pair, tile, r}, at, first);
          } else {
            accumulate<2>(block, {pair, tile, r}, at, first);
          }
        }
      }
    }
  }

  struct Target {
    std::int64_t pair, tile, r;
  };

  template <int kTaps>
  void accumulate(const Block& block, const Target& target, float* sums, bool first) {
    if (first) {
      zero_sums();
    } else {
      load_sums<kTaps>(sums);
    }
    const std::int64_t shift = target.r - shape_.padding;
    const std::int64_t begin = std::max<std::int64_t>(0, -shift - block.row);
    const std::int64_t end = std::min(block.rows, shape_.height - shift - block.row);
    const auto tile = static_cast<std::int64_t>(kTileBytes);
    for (std::int64_t group = 0; group < block.groups; ++group) {
      for (std::int64_t u = begin; u < end; ++u) {
        const std::byte* x = x_row(block, group, block.row + u + shift);
        const std::byte* dy = dy_row(block, group, u);
        multiply_row<kTaps>(x + target.tile * shape_.width * tile,
                            dy + target.pair * shape_.columns * 2 * tile, shape_);
      }
    }
    store_sums<kTaps>(sums);
  }

  /// Index into a task's sums: [r][tile of inputs][pair of outputs][s][2][16 inputs][16 outputs].
  std::int64_t sums_index(std::int64_t r, std::int64_t tile, std::int64_t pair) const {
    return ((r * 2 * plan_.input_pairs + tile) * plan_.output_pairs + pair) * shape_.kernel * 2 *
           kTileSide * kTileSide;
  }

  /// Writes this thread's share of dw; threads take tiles of inputs in turn.
  void write_out(int thread) {
    const std::int64_t chunk_tiles = 2 * plan_.input_pairs;
    const std::int64_t chunks = plan_.input_chunks * plan_.output_chunks;
    for (std::int64_t index = thread; index < chunks * chunk_tiles; index += threads_) {
      const std::int64_t chunk = index / chunk_tiles, tile = index % chunk_tiles;
      const std::int64_t input =
          chunk % plan_.input_chunks * plan_.input_pairs * kPair + tile * kTileSide;
      const std::int64_t output = chunk / plan_.input_chunks * plan_.output_pairs * kPair;
      if (input >= shape_.inputs) continue;
      for (std::int64_t r = 0; r < shape_.kernel; ++r) {
        for (std::int64_t pair = 0; pair < plan_.output_pairs; ++pair) {
          const float* sums =
              sums_.get() + chunk * plan_.image_parts * sums_size_ + sums_index(r, tile, pair);
          for (std::int64_t s = 0; s < shape_.kernel; ++s) {
            for (std::int64_t half = 0; half < 2; ++half) {
              write_tile(sums + (2 * s + half) * kTileSide * kTileSide, {input, r, s},
                         output + pair * kPair + 4 * half);
            }
          }
        }
      }
    }
  }

  struct Corner {
    std::int64_t input, r, s;
  };

  void write_tile(const float* sums, const Corner& corner, std::int64_t output) {
    Rows16 rows;
    for (int i = 0; i < kTileSide; ++i) {
      __m512 sum = _mm512_load_ps(sums + i * kTileSide);
      for (std::int64_t part = 1; part < plan_.image_parts; ++part) {
        sum = _mm512_add_ps(sum, _mm512_load_ps(sums + part * sums_size_ + i * kTileSide));
      }
      rows[i] = _mm512_castps_si512(sum);
    }
    transpose(rows);
    const auto inputs = static_cast<__mmask16>(
        first_of_32(std::clamp<std::int64_t>(shape_.inputs - corner.input, 0, kTileSide)));
    for (int d = 0; d < kTileSide; ++d) {
      const std::int64_t o = output + unpacked_column(d);
      if (o >= shape_.outputs) continue;
      float* to = dw_ +
                  ((o * shape_.kernel + corner.r) * shape_.kernel + corner.s) * shape_.inputs +
                  corner.input;
      _mm512_mask_storeu_ps(to, inputs, _mm512_castsi512_ps(rows[d]));
    }
  }

  GradientShape shape_;
  GradientPlan plan_;
  int threads_;
  const std::uint16_t* dy_;
  const std::uint16_t* x_;
  float* dw_;
  std::int64_t x_row_, dy_row_, x_bytes_, dy_bytes_, sums_size_;
  Buffer<std::byte> blocks_;
  Buffer<float> sums_;
};

#pragma clang attribute pop
#pragma GCC pop_options

}  // namespace

bool can_use_tiles(const KernelRequest& request) {
  if (request.inputs[0].type.element != ElementType::BF16) return false;
  if (request.node.attributes.has("groups")) return false;
  const GradientShape s = gradient_shape(request);
  return request.node.attributes.integer("stride") == 1 && (s.kernel == 2 || s.kernel == 3) &&
         s.padding < s.kernel && s.batch >= kImages / 2 && s.inputs >= kTileSide &&
         s.outputs >= kTileSide && has_amx_bf16();
}

KernelPointer convolution_backward_weights_tiles(const KernelRequest& request) {
  return std::make_unique<WeightGradient>(request);
}

}  // namespace regatta::cpu
