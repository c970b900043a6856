// SPDX-License-Identifier: Apache-2.0
//
// Turns the bytes of one image into normalised, augmented f32: adds a border (reflected or black)
// and crops the image to its original size, mirrors the result or not, computes (byte - mean) /
// deviation per channel, then sets a square to zero, which is the mean. Without augmentation only
// the normalisation remains.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/data/augmentation_draw.h"
#include "kernels/graph/builder.h"

namespace regatta::cpu {

class ImagePipeline {
 public:
  struct Shape {
    std::int64_t side = 0;
    std::int64_t channels = 0;
  };
  /// The shape must allow the augmentation; InputPlan checks that.
  ImagePipeline(const Shape& shape, const Augmentation& augmentation);

  /// Writes the augmented image to `target`; `draw` has the random choices.
  /// Shapes: image [side, side, channels] u8, target [side, side, channels] f32.
  void prepare(const std::uint8_t* image, const AugmentationDraw& draw, float* target) const;

 private:
  /// Maps a row or column of the bordered image to one of the original image, or to kBlack.
  std::int64_t source_of(std::int64_t index) const;
  void gather_row(const std::uint8_t* image, const AugmentationDraw& draw, std::int64_t y,
                  std::uint8_t* bytes) const;
  void cut_out(const AugmentationDraw& draw, float* target) const;

  Shape shape_;
  std::int64_t pad_;
  Augmentation::Border border_;
  std::int64_t cutout_;
  std::vector<float> mean_;       ///< [side, channels]: the channels' means, for a row of pixels
  std::vector<float> deviation_;  ///< [side, channels]: the standard deviations
};

}  // namespace regatta::cpu
