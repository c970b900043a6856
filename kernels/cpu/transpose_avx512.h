// SPDX-License-Identifier: Apache-2.0
//
// Transposes blocks of a matrix in AVX-512 registers. Use it only in code that is compiled for
// AVX-512 (a region of `#pragma GCC target`) and runs only if has_avx512().
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace regatta::cpu {

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq")
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))), \
                             apply_to = function)

using Rows16 = __m512i[16];

/// Transposes 16 x 16 elements of 32 bits.
[[gnu::always_inline]] inline void transpose(Rows16& rows) {
  Rows16 pairs, quads;
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    quads[i] = _mm512_unpacklo_epi64(pairs[i], pairs[i + 2]);
    quads[i + 1] = _mm512_unpackhi_epi64(pairs[i], pairs[i + 2]);
    quads[i + 2] = _mm512_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
    quads[i + 3] = _mm512_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
  }
  // Lane l of quads[4 g + m] is column 4 l + m of rows 4 g … 4 g + 3.
  for (int m = 0; m < 4; ++m) {
    const __m512i even0 = _mm512_shuffle_i32x4(quads[m], quads[4 + m], 0x88);
    const __m512i odd0 = _mm512_shuffle_i32x4(quads[m], quads[4 + m], 0xDD);
    const __m512i even1 = _mm512_shuffle_i32x4(quads[8 + m], quads[12 + m], 0x88);
    const __m512i odd1 = _mm512_shuffle_i32x4(quads[8 + m], quads[12 + m], 0xDD);
    rows[m] = _mm512_shuffle_i32x4(even0, even1, 0x88);
    rows[4 + m] = _mm512_shuffle_i32x4(odd0, odd1, 0x88);
    rows[8 + m] = _mm512_shuffle_i32x4(even0, even1, 0xDD);
    rows[12 + m] = _mm512_shuffle_i32x4(odd0, odd1, 0xDD);
  }
}

/// Returns the column, of 32, that is in 32-bit element d of _mm512_unpacklo_epi16's result; the
/// same element of _mm512_unpackhi_epi16's result has the column 4 further right.
constexpr int unpacked_column(int d) { return 8 * (d / 4) + d % 4; }

/// Transposes the 32 x 32 elements of 16 bits at `source`, in rows `stride` elements apart.
/// Reads the first `rows` rows and the columns set in the mask; all others count as zeros. Calls
/// write(c, the 32 elements) for each column c.
template <typename Write>
[[gnu::always_inline]] inline void transpose_words(const std::uint16_t* source, std::int64_t stride,
                                                   int rows, __mmask32 columns,
                                                   const Write& write) {
  Rows16 low, high;
  for (int i = 0; i < 16; ++i) {
    const auto row = [&](int r) {
      return r < rows ? _mm512_maskz_loadu_epi16(columns, source + r * stride)
                      : _mm512_setzero_si512();
    };
    const __m512i even = row(2 * i), odd = row(2 * i + 1);
    low[i] = _mm512_unpacklo_epi16(even, odd);
    high[i] = _mm512_unpackhi_epi16(even, odd);
  }
  transpose(low);
  transpose(high);
  for (int d = 0; d < 16; ++d) {
    write(unpacked_column(d), low[d]);
    write(unpacked_column(d) + 4, high[d]);
  }
}

/// Returns a mask of the first `count` of 32 elements; `count` may exceed 32.
inline __mmask32 first_of_32(std::int64_t count) {
  return count >= 32 ? ~__mmask32{0} : (__mmask32{1} << count) - 1;
}

#pragma clang attribute pop
#pragma GCC pop_options

}  // namespace regatta::cpu
