// SPDX-License-Identifier: Apache-2.0
//
// A digest of the examples that input kernels consumed: for each step and each position in its
// global batch, the example there and its augmentation. The digest is, modulo 2^64:
//   sum over steps of weight(step) * sum over examples of digest(place, example, draw)
// It does not depend on the number of workers that share the batches, or on the order of addition.
// If all steps have the same batch, each step costs one product. constexpr, because GPU kernels use
// it too.
#pragma once

#include <cstdint>

namespace regatta {

/// A bijection of 64 bits without visible structure: the finalizer of splitmix64.
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
constexpr std::uint64_t scrambled(std::uint64_t word) {
  word += 0x9E3779B97F4A7C15ULL;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ULL;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBULL;
  return word ^ (word >> 31);
}

/// Returns the weight of a step in the digest. It is odd, so that multiplication by it modulo 2^64
/// loses no information. `step` is the step's index in its loop.
constexpr std::uint64_t order_weight(std::int64_t step) {
  return scrambled(static_cast<std::uint64_t>(step)) | 1U;
}

/// Returns the digest of an example without augmentation. `place` is its position in the global
/// batch.
constexpr std::uint64_t order_digest(std::int64_t place, std::int64_t example) {
  return scrambled(scrambled(static_cast<std::uint64_t>(place)) ^
                   static_cast<std::uint64_t>(example));
}

/// Packs two numbers below 2^31 into one.
constexpr std::uint64_t paired(std::int32_t high, std::int32_t low) {
  return std::uint64_t{static_cast<std::uint32_t>(high)} << 32 | static_cast<std::uint32_t>(low);
}

/// Returns the digest of an augmented image. `place` is its position in the global batch; `Draw` is
/// AugmentationDraw (augmentation_draw.h).
template <typename Draw>
constexpr std::uint64_t order_digest(std::int64_t place, std::int64_t example, const Draw& draw) {
  const std::uint64_t flip = draw.flip ? std::uint64_t{1} << 63 : 0;
  const std::uint64_t moved =
      scrambled(order_digest(place, example) ^ paired(draw.shift_y, draw.shift_x));
  return scrambled(moved ^ paired(draw.cutout_y, draw.cutout_x) ^ flip);
}

}  // namespace regatta
