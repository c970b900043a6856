// SPDX-License-Identifier: Apache-2.0
//
// Draws an image's augmentation as a pure function of seed, epoch and example. constexpr, because
// GPU kernels compute it too.
#pragma once

#include <cstdint>

#include "kernels/base/random.h"
#include "kernels/graph/builder.h"

namespace regatta {

/// The augmentation drawn for one example in one epoch.
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

/// Draws the augmentation of an example. Random flip: mirrored with p = 1/2, drawn anew in each
/// epoch. Alternating flip: mirrored in even epochs with p = 1/2, drawn once, and in odd epochs the
/// opposite (airbench94).
constexpr AugmentationDraw draw_augmentation(std::uint64_t seed, std::int64_t epoch,
                                             std::int64_t example,
                                             const AugmentationRanges& ranges) {
  const RandomStream stream(seed, Purpose::Augmentation, static_cast<std::uint32_t>(epoch),
                            static_cast<std::uint32_t>(example));
  const Counter4 first = stream.words(0);
  const auto shifts = static_cast<std::uint32_t>(2 * ranges.pad + 1);
  const auto corners = static_cast<std::uint32_t>(ranges.side - ranges.cutout + 1);
  AugmentationDraw draw;
  draw.shift_x = static_cast<std::int32_t>(below_word(first[0], shifts));
  draw.shift_y = static_cast<std::int32_t>(below_word(first[1], shifts));
  draw.cutout_x = static_cast<std::int32_t>(below_word(first[2], corners));
  draw.cutout_y = static_cast<std::int32_t>(below_word(first[3], corners));
  if (ranges.flip == static_cast<int>(Augmentation::Flip::Random)) {
    draw.flip = (stream.words(1)[0] & 1U) != 0;
  } else if (ranges.flip == static_cast<int>(Augmentation::Flip::Alternating)) {
    const RandomStream once(seed, Purpose::Augmentation, 0, static_cast<std::uint32_t>(example));
    draw.flip = ((once.words(1)[0] & 1U) != 0) != (epoch % 2 == 1);
  }
  return draw;
}

}  // namespace regatta
