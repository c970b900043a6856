// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of bf16 with stride 1 by AMX, forward and backward data, for batches of whole groups
// of 32 images. A product of tiles multiplies 16 images at one pixel, 32 channels each, with 32 x
// 16 weights. Tiles are loaded straight from the images (their rows lie one image apart), and taps
// on the border are skipped, a large share on small images. Backward data is the forward
// convolution of dy with flipped weights (convolution_flipped.cpp). Each run first packs the
// weights into tiles. Within 32, result channels are in the order of unpacked words, which
// write_pixel() undoes. Results do not depend on the number of threads.
#include <algorithm>
#include <atomic>

#include "kernels/cpu/amx.h"
#include "kernels/cpu/amx_tiles.h"
#include "kernels/cpu/buffer.h"
#include "kernels/cpu/convolution_paths.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/transpose_avx512.h"

namespace regatta::cpu {
namespace {

constexpr std::int64_t kImages = 2 * kTileSide;  // images computed together
constexpr std::int64_t kPair = 2 * kTileSide;    // result channels
constexpr std::int64_t kTileElements = kTileBytes / sizeof(std::uint16_t);

/// The shape of the convolution that is computed, from `channels` to `results`.
struct Shape {
  std::int64_t batch, height, width, channels;
  std::int64_t rows, columns, results;
  std::int64_t kernel, padding;
};

Shape shape_of(const KernelRequest& request, std::int64_t padding) {
  const TensorType& x = request.inputs[0].type;
  const TensorType& y = request.outputs[0].type;
  return {.batch = x.dim(0),
          .height = x.dim(1),
          .width = x.dim(2),
          .channels = x.dim(3),
          .rows = y.dim(1),
          .columns = y.dim(2),
          .results = y.dim(3),
          .kernel = request.node.attributes.integer("kernel"),
          .padding = padding};
}

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,amx-tile,amx-bf16")
#pragma clang attribute push(                                                                   \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,amx-tile,amx-bf16"))), \
    apply_to = function)

/// Packs weights into two tiles of 32 channels x 16 results each.
using PackTap = void (*)(const Shape& shape, const std::uint16_t* weights, std::int64_t result,
                         std::int64_t tap, std::int64_t channel, std::uint16_t* tiles);

/// Packs from weights [results, taps, channels].
void pack_forward(const Shape& shape, const std::uint16_t* weights, std::int64_t result,
                  std::int64_t tap, std::int64_t channel, std::uint16_t* tiles) {
  const std::int64_t taps = shape.kernel * shape.kernel;
  for (int half = 0; half < 2; ++half) {
    Rows16 rows;
    for (int d = 0; d < kTileSide; ++d) {
      const std::int64_t row = result + unpacked_column(d) + 4 * half;
      rows[d] = _mm512_loadu_si512(weights + (row * taps + tap) * shape.channels + channel);
    }
    transpose(rows);
    for (int k = 0; k < kTileSide; ++k) {
      _mm512_store_si512(tiles + half * kTileElements + k * kTileTerms, rows[k]);
    }
  }
}

/// Packs from weights [channels, taps, results], flipped.
void pack_turned(const Shape& shape, const std::uint16_t* weights, std::int64_t result,
                 std::int64_t tap, std::int64_t channel, std::uint16_t* tiles) {
  const std::int64_t taps = shape.kernel * shape.kernel;
  const auto row = [&](std::int64_t k) {
    return _mm512_loadu_si512(weights + ((channel + k) * taps + taps - 1 - tap) * shape.results +
                              result);
  };
  for (int k = 0; k < kTileSide; ++k) {
    const __m512i even = row(2 * k), odd = row(2 * k + 1);
    _mm512_store_si512(tiles + k * kTileTerms, _mm512_unpacklo_epi16(even, odd));
    _mm512_store_si512(tiles + kTileElements + k * kTileTerms, _mm512_unpackhi_epi16(even, odd));
  }
}

class PixelConvolution final : public Kernel {
 public:
  PixelConvolution(const KernelRequest& request, const Shape& shape, PackTap pack)
      : shape_(shape),
        pack_(pack),
        threads_(request.threads),
        x_(request.inputs[0].as<std::uint16_t>()),
        weights_(request.inputs[1].as<std::uint16_t>()),
        y_(request.outputs[0].as<std::uint16_t>()),
        packed_(
            make_buffer<std::uint16_t>(static_cast<std::size_t>(request.inputs[1].elements()))) {}

  void run(const StepContext&) override {
    parallel_parts(threads_, [this](int thread) { pack_weights(thread); });
    parallel_parts(threads_, [this](int thread) { multiply(thread); });
  }

 private:
  std::int64_t pairs() const { return shape_.results / kPair; }
  std::int64_t blocks() const { return shape_.channels / kTileTerms; }

  /// The tiles of a pair. Shapes: [tap][block of channels][2].
  std::uint16_t* packed(std::int64_t pair) const {
    return packed_.get() + pair * shape_.kernel * shape_.kernel * shape_.channels * kPair;
  }

  void pack_weights(int thread) {
    for (std::int64_t pair = thread; pair < pairs(); pair += threads_) {
      for (std::int64_t block = 0; block < blocks(); ++block) {
        for (std::int64_t tap = 0; tap < shape_.kernel * shape_.kernel; ++tap) {
          pack_(shape_, weights_, pair * kPair, tap, block * kTileTerms,
                packed(pair) + (tap * blocks() + block) * 2 * kTileElements);
        }
      }
    }
  }

  /// Computes this thread's share of groups x pairs.
  void multiply(int thread) {
    const Tiles tiles;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const std::int64_t count = shape_.batch / kImages * pairs();
    for (std::int64_t index = thread * count / threads_; index < (thread + 1) * count / threads_;
         ++index) {
      for (std::int64_t u = 0; u < shape_.rows; ++u) {
        for (std::int64_t v = 0; v < shape_.columns; ++v) {
          multiply_pixel(index / pairs(), index % pairs(), {u, v});
        }
      }
    }
  }

  struct Pixel {
    std::int64_t row, column;
  };

  void multiply_pixel(std::int64_t group, std::int64_t pair, const Pixel& at) {
    const std::int64_t image = shape_.height * shape_.width * shape_.channels;
    const std::uint16_t* images = x_ + group * kImages * image;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (std::int64_t r = 0; r < shape_.kernel; ++r) {
      const std::int64_t h = at.row + r - shape_.padding;
      if (h < 0 || h >= shape_.height) continue;
      for (std::int64_t s = 0; s < shape_.kernel; ++s) {
        const std::int64_t w = at.column + s - shape_.padding;
        if (w < 0 || w >= shape_.width) continue;
        multiply_tap(images + (h * shape_.width + w) * shape_.channels,
                     packed(pair) + (r * shape_.kernel + s) * blocks() * 2 * kTileElements, image);
      }
    }
    write_pixel(y_ +
                ((group * kImages * shape_.rows + at.row) * shape_.columns + at.column) *
                    shape_.results +
                pair * kPair);
  }

  void multiply_tap(const std::uint16_t* x, const std::uint16_t* weights,
                    std::int64_t image) const {
    const std::int64_t stride = image * 2;
    const std::uint16_t* second = x + kTileSide * image;
    for (std::int64_t block = 0; block < blocks(); ++block) {
      _tile_loadd(6, weights + block * 2 * kTileElements, 64);
      _tile_loadd(4, x + block * kTileTerms, stride);
      _tile_dpbf16ps(0, 4, 6);
      _tile_loadd(7, weights + (block * 2 + 1) * kTileElements, 64);
      _tile_dpbf16ps(1, 4, 7);
      _tile_loadd(5, second + block * kTileTerms, stride);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  }

  /// Rounds the sums for 32 images at one pixel to bf16 and writes them.
  void write_pixel(std::uint16_t* y) const {
    alignas(64) float sums[4][kTileSide][kTileSide];
    _tile_stored(0, sums[0], 64);
    _tile_stored(1, sums[1], 64);
    _tile_stored(2, sums[2], 64);
    _tile_stored(3, sums[3], 64);
    const std::int64_t image = shape_.rows * shape_.columns * shape_.results;
    for (int tile = 0; tile < 4; tile += 2) {
      for (int i = 0; i < kTileSide; ++i) {
        const auto low = (__m512i)_mm512_cvtne2ps_pbh(_mm512_load_ps(sums[tile + 1][i]),
                                                      _mm512_load_ps(sums[tile][i]));
        // Interleaves quarters of 4 words: low 0 … 3 with high 0 … 3.
        const __m512i order = _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0);
        _mm512_storeu_si512(y + (tile / 2 * kTileSide + i) * image,
                            _mm512_permutexvar_epi64(order, low));
      }
    }
  }

  Shape shape_;
  PackTap pack_;
  int threads_;
  const std::uint16_t* x_;
  const std::uint16_t* weights_;
  std::uint16_t* y_;
  Buffer<std::uint16_t> packed_;
};

#pragma clang attribute pop
#pragma GCC pop_options

}  // namespace

bool can_go_by_pixels(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  // Windows of one pixel have no border to skip; not measured.
  if (attributes.has("groups") || attributes.integer("kernel") == 1) return false;
  const TensorType& x = request.inputs[0].type;
  return x.element == ElementType::BF16 && request.inputs[1].type.element == ElementType::BF16 &&
         attributes.integer("stride") == 1 &&
         attributes.integer("padding") < attributes.integer("kernel") && x.dim(0) % kImages == 0 &&
         x.dim(3) % kTileTerms == 0 && request.outputs[0].type.dim(3) % kPair == 0 &&
         has_amx_bf16();
}

KernelPointer convolution_pixels(const KernelRequest& request) {
  return std::make_unique<PixelConvolution>(
      request, shape_of(request, request.node.attributes.integer("padding")), pack_forward);
}

KernelPointer convolution_backward_data_pixels(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const std::int64_t padding = attributes.integer("kernel") - 1 - attributes.integer("padding");
  return std::make_unique<PixelConvolution>(request, shape_of(request, padding), pack_turned);
}

}  // namespace regatta::cpu
