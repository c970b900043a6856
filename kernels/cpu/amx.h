// SPDX-License-Identifier: Apache-2.0
//
// Intel's matrix extension (AMX): eight registers ("tiles") of 16 rows of 64 bytes, and products of
// them. For bf16, one instruction computes C[16][16] += A[16][32] B[32][16] in f32, with B's rows
// stored in pairs: B[k][c] is element [k / 2][c][k % 2] of its tile.
#pragma once

#include <cstddef>

namespace regatta::cpu {

/// Number of rows of a tile, and of f32 values in a row.
inline constexpr int kTileSide = 16;
/// Number of terms that one product of tiles sums for each result.
inline constexpr int kTileTerms = 32;
inline constexpr std::size_t kTileBytes = 1024;

/// Whether the processor multiplies bf16 tiles and the operating system allows it for this process
/// (checked once). True implies has_avx512() and AVX-512's conversions to bf16.
bool has_amx_bf16();

/// Whether oneDNN uses AVX-512 with BW, VL and DQ, which it needs for bf16.
bool has_avx512();

}  // namespace regatta::cpu
