// SPDX-License-Identifier: Apache-2.0
//
// The inner loops of convolution_tiles.cpp: images to tiles, and products of tiles. Use it only in
// code that is compiled for AMX and runs only if has_amx_bf16().
#pragma once

#include <immintrin.h>

#include "kernels/cpu/amx_tiles.h"
#include "kernels/cpu/convolution_tiles_plan.h"
#include "kernels/cpu/transpose_avx512.h"

namespace regatta::cpu::tiles {

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,amx-tile,amx-bf16")
#pragma clang attribute push(                                                        \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,amx-tile,amx-bf16"))), \
    apply_to = function)

/// Transposes 32 channels of x at one pixel of a group to two tiles, 16 inputs x 32 images each.
inline void transpose_x(const std::uint16_t* x, std::int64_t image, int images, __mmask32 channels,
                        std::uint16_t* first, std::uint16_t* second) {
  transpose_words(x, image, images, channels, [&](int c, __m512i values) {
    std::uint16_t* tile = c < kTileSide ? first : second;
    _mm512_store_si512(tile + c % kTileSide * kTileTerms, values);
  });
}

/// Interleaves 32 channels of dy at one pixel of a group to two tiles, 32 images x 16 outputs each.
inline void interleave_dy(const std::uint16_t* dy, std::int64_t image, int images,
                          __mmask32 channels, std::uint16_t* tiles) {
  constexpr std::int64_t kTileElements = kTileBytes / sizeof(std::uint16_t);
  for (int i = 0; i < kTileSide; ++i) {
    const __m512i even = 2 * i < images ? _mm512_maskz_loadu_epi16(channels, dy + 2 * i * image)
                                        : _mm512_setzero_si512();
    const __m512i odd = 2 * i + 1 < images
                            ? _mm512_maskz_loadu_epi16(channels, dy + (2 * i + 1) * image)
                            : _mm512_setzero_si512();
    _mm512_store_si512(tiles + i * kTileTerms, _mm512_unpacklo_epi16(even, odd));
    _mm512_store_si512(tiles + kTileElements + i * kTileTerms, _mm512_unpackhi_epi16(even, odd));
  }
}

// Tile registers in accumulate(): sums of tap s in 2 s and 2 s + 1, x in 6, dy in 7.

template <int kTaps>
void load_sums(const float* sums) {
  const auto at = [&](int tile) { return sums + tile * 256; };
  _tile_loadd(0, at(0), 64);
  _tile_loadd(1, at(1), 64);
  _tile_loadd(2, at(2), 64);
  _tile_loadd(3, at(3), 64);
  if constexpr (kTaps == 3) {
    _tile_loadd(4, at(4), 64);
    _tile_loadd(5, at(5), 64);
  }
}

inline void zero_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
}

template <int kTaps>
void store_sums(float* sums) {
  const auto at = [&](int tile) { return sums + tile * 256; };
  _tile_stored(0, at(0), 64);
  _tile_stored(1, at(1), 64);
  _tile_stored(2, at(2), 64);
  _tile_stored(3, at(3), 64);
  if constexpr (kTaps == 3) {
    _tile_stored(4, at(4), 64);
    _tile_stored(5, at(5), 64);
  }
}

/// Multiplies a row of x with a row of dy and adds to the sums of all taps s in the tile registers:
/// column w of x meets column w + padding - s of dy.
template <int kTaps>
[[gnu::always_inline]] inline void multiply_row(const std::byte* x, const std::byte* dy,
                                                const GradientShape& shape) {
  const auto columns = static_cast<std::uint64_t>(shape.columns);
  for (std::int64_t w = 0; w < shape.width; ++w) {
    const std::int64_t v = w + shape.padding;
    const std::byte* at = dy + v * static_cast<std::int64_t>(2 * kTileBytes);
    _tile_loadd(6, x + w * static_cast<std::int64_t>(kTileBytes), 64);
    if (static_cast<std::uint64_t>(v) < columns) {
      _tile_loadd(7, at, 64);
      _tile_dpbf16ps(0, 6, 7);
      _tile_loadd(7, at + kTileBytes, 64);
      _tile_dpbf16ps(1, 6, 7);
    }
    if (static_cast<std::uint64_t>(v - 1) < columns) {
      _tile_loadd(7, at - 2 * kTileBytes, 64);
      _tile_dpbf16ps(2, 6, 7);
      _tile_loadd(7, at - kTileBytes, 64);
      _tile_dpbf16ps(3, 6, 7);
    }
    if constexpr (kTaps == 3) {
      if (static_cast<std::uint64_t>(v - 2) < columns) {
        _tile_loadd(7, at - 4 * kTileBytes, 64);
        _tile_dpbf16ps(4, 6, 7);
        _tile_loadd(7, at - 3 * kTileBytes, 64);
        _tile_dpbf16ps(5, 6, 7);
      }
    }
  }
}

#pragma clang attribute pop
#pragma GCC pop_options

}  // namespace regatta::cpu::tiles
