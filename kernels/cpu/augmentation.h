// SPDX-License-Identifier: Apache-2.0
//
// One image from bytes to normalised, augmented f32: a crop of the original size out of the image
// with a border (reflected or black), mirrored or not, (byte - mean) / deviation a channel, then a
// square of zeros (the mean). Without augmentation only the normalisation remains.
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
  /// The shape must allow the augmentation, as InputPlan checks.
  ImagePipeline(const Shape& shape, const Augmentation& augmentation);

  /// Shapes: image [side, side, channels] u8 to target [side, side, channels] f32.
  void prepare(const std::uint8_t* image, const AugmentationDraw& draw, float* target) const;

 private:
  /// Maps a row or column index of the image with its border to one of the image; kBlack: none.
  std::int64_t source_of(std::int64_t index) const;
  void gather_row(const std::uint8_t* image, const AugmentationDraw& draw, std::int64_t y,
                  std::uint8_t* bytes) const;
  void cut_out(const AugmentationDraw& draw, float* target) const;

  Shape shape_;
  std::int64_t pad_;
  Augmentation::Border border_;
  std::int64_t cutout_;
  std::vector<float> mean_;       ///< [side, channels]: a row of pixels
  std::vector<float> deviation_;  ///< of the same shape
};

}  // namespace regatta::cpu
