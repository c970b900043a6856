// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/augmentation.h"

#include <algorithm>
#include <array>

#include "kernels/base/error.h"

namespace regatta::cpu {
namespace {

/// The longest row, in bytes, that is gathered on the stack.
constexpr std::int64_t kLongestRow = 4096;

constexpr std::int64_t kBlack = -1;

std::vector<float> repeated(const std::vector<double>& channels, std::int64_t times) {
  std::vector<float> row;
  for (std::int64_t i = 0; i < times; ++i) {
    for (double value : channels) row.push_back(static_cast<float>(value));
  }
  return row;
}

}  // namespace

ImagePipeline::ImagePipeline(const Shape& shape, const Augmentation& augmentation)
    : shape_(shape),
      pad_(augmentation.pad),
      border_(augmentation.border),
      cutout_(augmentation.cutout),
      mean_(repeated(augmentation.mean, shape.side)),
      deviation_(repeated(augmentation.deviation, shape.side)) {
  if (shape.side * shape.channels > kLongestRow) {
    throw RunError(ErrorKind::Usage,
                   "an image of side " + std::to_string(shape.side) +
                       " is larger than the CPU's input takes: a row has at most " +
                       std::to_string(kLongestRow) + " bytes");
  }
}

std::int64_t ImagePipeline::source_of(std::int64_t index) const {
  const std::int64_t inside = index - pad_;
  if (inside >= 0 && inside < shape_.side) return inside;
  if (border_ == Augmentation::Border::Black) return kBlack;
  return inside < 0 ? -inside : 2 * (shape_.side - 1) - inside;
}

void ImagePipeline::gather_row(const std::uint8_t* image, const AugmentationDraw& draw,
                               std::int64_t y, std::uint8_t* bytes) const {
  const std::int64_t side = shape_.side, channels = shape_.channels;
  const std::int64_t row = source_of(y + draw.shift_y);
  if (row == kBlack) {
    std::fill_n(bytes, side * channels, std::uint8_t{0});
    return;
  }
  const std::uint8_t* source = image + row * side * channels;
  for (std::int64_t x = 0; x < side; ++x) {
    const std::int64_t column = source_of((draw.flip ? side - 1 - x : x) + draw.shift_x);
    for (std::int64_t c = 0; c < channels; ++c) {
      bytes[x * channels + c] = column == kBlack ? std::uint8_t{0} : source[column * channels + c];
    }
  }
}

void ImagePipeline::prepare(const std::uint8_t* image, const AugmentationDraw& draw,
                            float* target) const {
  const std::int64_t row = shape_.side * shape_.channels;
  std::array<std::uint8_t, kLongestRow> bytes;
  for (std::int64_t y = 0; y < shape_.side; ++y) {
    gather_row(image, draw, y, bytes.data());
    float* pixels = target + y * row;
    const std::uint8_t* from = bytes.data();
    const float* mean = mean_.data();
    const float* deviation = deviation_.data();
#pragma omp simd
    for (std::int64_t i = 0; i < row; ++i) {
      pixels[i] = (static_cast<float>(from[i]) - mean[i]) / deviation[i];
    }
  }
  cut_out(draw, target);
}

void ImagePipeline::cut_out(const AugmentationDraw& draw, float* target) const {
  for (std::int64_t y = draw.cutout_y; y < draw.cutout_y + cutout_; ++y) {
    float* first = target + (y * shape_.side + draw.cutout_x) * shape_.channels;
    std::fill_n(first, cutout_ * shape_.channels, 0.0F);
  }
}

}  // namespace regatta::cpu
