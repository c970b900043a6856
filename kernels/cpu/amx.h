// SPDX-License-Identifier: Apache-2.0
//
// Intel's matrix extension: eight registers ("tiles") of 16 rows of 64 bytes, and products of them.
// Of bf16: C[16][16] += A[16][32] B[32][16] in f32, where B's rows come in pairs:
// B[k][c] is element [k / 2][c][k % 2] of its tile.
#pragma once

#include <cstddef>

namespace regatta::cpu {

/// Rows of a tile, and columns of f32.
inline constexpr int kTileSide = 16;
/// Terms that one product of tiles adds up.
inline constexpr int kTileTerms = 32;
inline constexpr std::size_t kTileBytes = 1024;

/// Whether the processor multiplies tiles of bf16 and the operating system lets this process do so
/// (asked once). True implies has_avx512() and AVX-512's conversions to bf16.
bool has_amx_bf16();

/// Whether the processor has AVX-512 with BW, VL and DQ: what oneDNN wants for bf16.
bool has_avx512();

}  // namespace regatta::cpu
