// SPDX-License-Identifier: Apache-2.0
//
// Random numbers as pure functions of a key and a counter, so that any process or device draws the
// same bits in any order: Philox4x32-10.
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace regatta {

using Counter4 = std::array<std::uint32_t, 4>;

/// Ten rounds of Philox4x32.
Counter4 philox(Counter4 counter, std::array<std::uint32_t, 2> key);

/// What a stream of random numbers is for; streams of different purposes are independent.
enum class Purpose : std::uint32_t { Weights = 1, Order = 2, Augmentation = 3, DataSet = 4 };

/// One stream: (seed, purpose, a, b) name it, the index of a draw selects four words.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, Purpose purpose, std::uint32_t a = 0, std::uint32_t b = 0);

  /// Four words of draw `index`.
  Counter4 words(std::uint32_t index) const;
  /// Uniform in [0, 1), 24 bits. Word `lane` (0 to 3) of draw `index`.
  float uniform(std::uint32_t index, int lane = 0) const;
  /// Uniform in [0, bound), without bias worth measuring (32-bit multiply).
  std::uint32_t below(std::uint32_t bound, std::uint32_t index, int lane = 0) const;
  /// Standard normal by Box-Muller, from words 0 and 1 of draw `index`.
  float normal(std::uint32_t index) const;

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint32_t a_;
  std::uint32_t b_;
  std::uint32_t purpose_;
};

/// 64-bit FNV-1a, for names and checksums; `hash` continues an earlier one.
std::uint64_t fnv1a(const void* data, std::size_t size, std::uint64_t hash = 0xcbf29ce484222325ULL);
std::uint64_t fnv1a(std::string_view text);

/// The order of examples in an epoch: a permutation of 0 … count - 1 by (seed, epoch).
std::vector<std::int32_t> example_order(std::uint64_t seed, std::int64_t epoch, std::int64_t count);
/// Likewise, of as many examples as `order` has room for.
void draw_example_order(std::uint64_t seed, std::int64_t epoch, std::span<std::int32_t> order);

/// What augmentation does to one example, by (seed, epoch, example).
struct AugmentationDraw {
  std::int32_t shift_x = 0;  ///< crop origin in the padded image, 0 … 2 pad. Units: pixels
  std::int32_t shift_y = 0;
  bool flip = false;
  std::int32_t cutout_x = 0;  ///< left edge of the square, 0 … side - cutout
  std::int32_t cutout_y = 0;
};

struct AugmentationRanges {
  std::int64_t side = 0;
  std::int64_t pad = 0;
  std::int64_t cutout = 0;
  int flip = 0;  ///< Augmentation::Flip as an integer
};

/// Random flip: p = 1/2 by (seed, epoch, example). Alternating: p = 1/2 by (seed, example) in epoch
/// 0, then mirrored on every odd epoch (airbench94).
AugmentationDraw draw_augmentation(std::uint64_t seed, std::int64_t epoch, std::int64_t example,
                                   const AugmentationRanges& ranges);

}  // namespace regatta
