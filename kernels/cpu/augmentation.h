// SPDX-License-Identifier: Apache-2.0
//
// Turns the bytes of one image into normalised, augmented f32: crops the original size out of the
// image with a border (reflected or black), mirrors it or not, computes (byte - mean) / deviation
// by channel, then zeroes a square (the mean). Without augmentation only the normalisation remains.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/graph/builder.h"
#include "kernels/graph/random.h"

namespace regatta::cpu {

class ImagePipeline {
 public:
  struct Shape {
    std::int64_t side = 0;
    std::int64_t channels = 0;
  };
  /// The shape must allow the augmentation; InputPlan checks that.
  ImagePipeline(const Shape& shape, const Augmentation& augmentation);

  /// Shapes: image [side, side, channels] u8, target [side, side, channels] f32.
  void prepare(const std::uint8_t* image, const AugmentationDraw& draw, float* target) const;

 private:
  /// Maps a row or column of the image with border to one of the image, or to kBlack.
  std::int64_t source_of(std::int64_t index) const;
  void gather_row(const std::uint8_t* image, const AugmentationDraw& draw, std::int64_t y,
                  std::uint8_t* bytes) const;
  void cut_out(const AugmentationDraw& draw, float* target) const;

  Shape shape_;
  std::int64_t pad_;
  Augmentation::Border border_;
  std::int64_t cutout_;
  std::vector<float> mean_;       ///< [side, channels]: a row of pixels
  std::vector<float> deviation_;  ///< same shape
};

}  // namespace regatta::cpu
