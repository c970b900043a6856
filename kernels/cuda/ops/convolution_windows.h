// SPDX-License-Identifier: Apache-2.0
//
// Maps pixels of x and y to each other for each tap of the window: y's pixel (p, q) reads x's pixel
// (p * stride + r - padding, q * stride + s - padding) for tap (r, s). For .cu files only.
#pragma once

#include "kernels/cuda/ops/convolution_shape.h"

namespace regatta::cuda {

struct Pixel {
  int image, row, column;
};
struct Tap {
  int r, s;
};

__host__ __device__ inline Pixel pixel_at(int index, int rows, int columns) {
  const int line = index / columns;
  return {.image = line / rows, .row = line % rows, .column = index % columns};
}
__host__ __device__ inline Pixel input_at(const ConvolutionShape& shape, int index) {
  return pixel_at(index, shape.height, shape.width);
}
__host__ __device__ inline Pixel output_at(const ConvolutionShape& shape, int index) {
  return pixel_at(index, shape.rows, shape.columns);
}
__host__ __device__ inline Tap tap_at(const ConvolutionShape& shape, int index) {
  return {.r = index / shape.kernel, .s = index % shape.kernel};
}

/// Returns the index of the pixel of x that y's pixel reads at the tap; -1 if it is outside the
/// image.
__host__ __device__ inline std::int64_t pixel_of_x(const ConvolutionShape& shape, const Pixel& y,
                                                   const Tap& tap) {
  const int row = y.row * shape.stride + tap.r - shape.padding;
  const int column = y.column * shape.stride + tap.s - shape.padding;
  if (row < 0 || row >= shape.height || column < 0 || column >= shape.width) return -1;
  return (static_cast<std::int64_t>(y.image) * shape.height + row) * shape.width + column;
}

/// Returns the index of the pixel of y that reads x's pixel at the tap; -1 if there is none.
__host__ __device__ inline std::int64_t pixel_of_y(const ConvolutionShape& shape, const Pixel& x,
                                                   const Tap& tap) {
  const int row = x.row + shape.padding - tap.r;
  const int column = x.column + shape.padding - tap.s;
  if (row < 0 || column < 0 || row % shape.stride != 0 || column % shape.stride != 0) return -1;
  const int p = row / shape.stride;
  const int q = column / shape.stride;
  if (p >= shape.rows || q >= shape.columns) return -1;
  return (static_cast<std::int64_t>(x.image) * shape.rows + p) * shape.columns + q;
}

}  // namespace regatta::cuda
