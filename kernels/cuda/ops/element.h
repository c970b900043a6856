// SPDX-License-Identifier: Apache-2.0
//
// Element types in kernels: elements are loaded as f32, computed in f32 and rounded when stored,
// several neighbours at once if addresses are aligned. For host and device.
#pragma once

#include <cuda_bf16.h>

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>

#include "kernels/graph/tensor_type.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {

/// The upper half of an f32 (1 sign, 8 exponent, 7 mantissa bits).
struct Bf16 {
  std::uint16_t bits;
};

__host__ __device__ inline float load(float value) { return value; }
__host__ __device__ inline float load(Bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

__host__ __device__ inline void store(float& to, float value) { to = value; }
/// Rounds to nearest, ties to even; overflow becomes infinity; NaNs stay NaN and are made quiet.
__host__ __device__ inline void store(Bf16& to, float value) {
  to.bits = __bfloat16_as_ushort(__float2bfloat16_rn(value));
}

/// The number of elements in a 16-byte load or store.
template <typename T>
inline constexpr int kPackWidth = 16 / static_cast<int>(sizeof(T));

template <typename T, int kWidth>
struct alignas(kWidth * sizeof(T) < 16 ? kWidth * sizeof(T) : 16) Pack {
  T at[kWidth];
};

/// Loads kWidth elements. `from` must be aligned to 16 bytes, or to the size of kWidth elements if
/// that is smaller.
template <int kWidth, typename T>
__host__ __device__ inline Pack<T, kWidth> pack_at(const T* from) {
  return *reinterpret_cast<const Pack<T, kWidth>*>(from);
}

template <int kWidth, typename T>
__host__ __device__ inline void unpack(const Pack<T, kWidth>& pack, float (&to)[kWidth]) {
  for (int j = 0; j < kWidth; ++j) to[j] = load(pack.at[j]);
}

/// Loads kWidth elements and converts them to f32. `from` must be aligned as for pack_at().
template <int kWidth, typename T>
__host__ __device__ inline void load_pack(const T* from, float (&to)[kWidth]) {
  const auto pack = *reinterpret_cast<const Pack<T, kWidth>*>(from);
  for (int j = 0; j < kWidth; ++j) to[j] = load(pack.at[j]);
}

/// Rounds two adjacent values to bf16 and packs them into one word, the first in its lower half.
__device__ inline unsigned word_of(float first, float second) {
  const __nv_bfloat162_raw pair = __floats2bfloat162_rn(first, second);
  return static_cast<unsigned>(pair.y) << 16 | pair.x;
}

template <int kWidth, typename T>
__host__ __device__ inline void store_pack(T* to, const float (&from)[kWidth]) {
#ifdef __CUDA_ARCH__
  // Written by hand, because the compiler would make several stores.
  if constexpr (std::is_same_v<T, Bf16> && kWidth == 8) {
    *reinterpret_cast<uint4*>(to) =
        make_uint4(word_of(from[0], from[1]), word_of(from[2], from[3]), word_of(from[4], from[5]),
                   word_of(from[6], from[7]));
  } else if constexpr (std::is_same_v<T, Bf16> && kWidth == 4) {
    *reinterpret_cast<uint2*>(to) =
        make_uint2(word_of(from[0], from[1]), word_of(from[2], from[3]));
  } else
#endif
  {
    Pack<T, kWidth> pack;
    for (int j = 0; j < kWidth; ++j) store(pack.at[j], from[j]);
    *reinterpret_cast<Pack<T, kWidth>*>(to) = pack;
  }
}

/// Whether packs may begin at all of these addresses, multiples of 16 bytes. Null counts as
/// aligned.
inline bool are_aligned(std::initializer_list<const void*> addresses) {
  std::uintptr_t all = 0;
  for (const void* address : addresses) all |= reinterpret_cast<std::uintptr_t>(address);
  return all % 16 == 0;
}

/// Returns the address of tensor `index`; null if there are fewer tensors.
inline const void* address_of(std::span<const Tensor> tensors, std::size_t index) {
  return index < tensors.size() ? tensors[index].data : nullptr;
}

/// Returns build(T{}), where T is the C++ type of `element`; null for types without kernels.
template <typename Build>
std::unique_ptr<Kernel> with_element(ElementType element, const Build& build) {
  switch (element) {
    case ElementType::F32: return build(float{});
    case ElementType::BF16: return build(Bf16{});
    default: return nullptr;
  }
}

}  // namespace regatta::cuda
