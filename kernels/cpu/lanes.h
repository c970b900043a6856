// SPDX-License-Identifier: Apache-2.0
//
// A vector of f32 that fills one register, for loops whose speed must not depend on the compiler's
// vectoriser. Arithmetic, comparisons and selections are those of the compiler's vector types,
// which work for any instruction set; a type wider than a register would pass through memory. Only
// the rounding to bf16 uses an intrinsic: an instruction for a whole register, where the machine
// has it, costs a tenth of element.h's integer arithmetic.
#pragma once

#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>

#include "kernels/cpu/element.h"

namespace regatta::cpu {

#if defined(__AVX512F__)
inline constexpr std::int64_t kLanes = 16;
#elif defined(__AVX2__)
inline constexpr std::int64_t kLanes = 8;
#else
inline constexpr std::int64_t kLanes = 4;
#endif

using Lanes __attribute__((vector_size(kLanes * 4))) = float;
using LaneIntegers __attribute__((vector_size(kLanes * 4))) = std::int32_t;
using LaneHalves __attribute__((vector_size(kLanes * 2))) = std::uint16_t;
using LaneBytes __attribute__((vector_size(kLanes))) = std::uint8_t;

/// AllLanes and SomeLanes give the number of lanes that a load or store accesses; a load sets the
/// other lanes to zero.
struct AllLanes {
  static constexpr std::size_t count = kLanes;
};
struct SomeLanes {
  std::size_t count;
};

/// Calls body(i, lanes) for i = 0, kLanes, … below `count`; the last call may have fewer lanes.
template <typename Body>
inline void for_each_lanes(std::int64_t count, const Body& body) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) body(i, AllLanes{});
  if (i < count) body(i, SomeLanes{static_cast<std::size_t>(count - i)});
}

template <typename Vector, typename T, typename Count>
inline Vector load_raw(const T* from, Count lanes) {
  Vector vector{};
  std::memcpy(&vector, from, lanes.count * sizeof(T));
  return vector;
}

/// Returns its argument in a register. GCC otherwise loads a vector again in each multiply-add that
/// takes it; with AVX2, loads are then the limit (on a Zen 3, 62 instead of 88 GFLOP/s).
inline Lanes in_register(Lanes lanes) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  asm("" : "+x"(lanes));
#endif
  return lanes;
}

inline Lanes to_f32(Lanes lanes) { return lanes; }
inline Lanes to_f32(LaneHalves halves) {
  return std::bit_cast<Lanes>(__builtin_convertvector(halves, LaneIntegers) << 16);
}

/// Rounds a register of f32 to the element type of the first argument, in the form in which memory
/// holds it.
inline Lanes rounded_to(float, Lanes lanes) { return lanes; }
/// Rounds to nearest, ties to even; a NaN stays a NaN. The machine's instruction treats numbers
/// below f32's normal range as zero.
inline LaneHalves rounded_to(Bf16, Lanes lanes) {
#ifdef __AVX512BF16__
  return std::bit_cast<LaneHalves>(_mm512_cvtneps_pbh(std::bit_cast<__m512>(lanes)));
#else
  LaneHalves halves;
  for (int i = 0; i < kLanes; ++i) {
    Bf16 one;
    store(one, lanes[i]);
    halves[i] = one.bits;
  }
  return halves;
#endif
}

template <typename Count>
inline Lanes load_lanes(const float* from, Count lanes) {
  return load_raw<Lanes>(from, lanes);
}
template <typename Count>
inline Lanes load_lanes(const Bf16* from, Count lanes) {
  return to_f32(load_raw<LaneHalves>(from, lanes));
}

template <typename T, typename Count>
inline void store_lanes(T* to, Lanes values, Count lanes) {
  const auto rounded = rounded_to(T{}, values);
  std::memcpy(to, &rounded, lanes.count * sizeof(T));
}

template <typename Count>
inline LaneIntegers load_bytes(const std::uint8_t* from, Count lanes) {
  return __builtin_convertvector(load_raw<LaneBytes>(from, lanes), LaneIntegers);
}
template <typename Count>
inline void store_bytes(std::uint8_t* to, LaneIntegers values, Count lanes) {
  const LaneBytes bytes = __builtin_convertvector(values, LaneBytes);
  std::memcpy(to, &bytes, lanes.count);
}

/// Returns a register with `value` in all lanes.
inline Lanes all(float value) { return Lanes{} + value; }

// Overloads that let vector_math.h work on f32 and on lanes.
inline float select(bool where, float yes, float no) { return where ? yes : no; }
inline Lanes select(LaneIntegers where, Lanes yes, Lanes no) { return where ? yes : no; }
inline Lanes select(LaneIntegers where, float yes, Lanes no) { return where ? all(yes) : no; }
inline Lanes select(LaneIntegers where, Lanes yes, float no) { return where ? yes : all(no); }
/// Returns 2^n for an integer n in f32's exponent range.
inline float power_of_two(float n) {
  return std::bit_cast<float>((static_cast<std::int32_t>(n) + 127) << 23);
}
inline Lanes power_of_two(Lanes n) {
  return std::bit_cast<Lanes>((__builtin_convertvector(n, LaneIntegers) + 127) << 23);
}

}  // namespace regatta::cpu
