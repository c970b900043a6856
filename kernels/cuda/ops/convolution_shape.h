// SPDX-License-Identifier: Apache-2.0
//
// The sizes of a convolution and of its backward ops, as our kernels and cuDNN want them.
#pragma once

#include <cstdint>

#include "kernels/runtime/kernel.h"

namespace regatta::cuda {

/// x [batch, height, width, inputs], w [outputs, kernel, kernel, inputs / groups],
/// y [batch, rows, columns, outputs].
struct ConvolutionShape {
  int batch, height, width, inputs;
  int rows, columns, outputs;
  int kernel, stride, padding;
  int groups, group_inputs, group_outputs;

  std::int64_t pixels_of_x() const { return std::int64_t{batch} * height * width; }
  std::int64_t pixels_of_y() const { return std::int64_t{batch} * rows * columns; }
};

enum class ConvolutionPass { Forward, BackwardData, BackwardWeights };

/// Which tensors of the request are x, w and y: the output is y, dx or dw, in place of the one that
/// the pass computes.
struct ConvolutionTensors {
  Tensor x, w, y;
};
ConvolutionTensors tensors_of(ConvolutionPass pass, const KernelRequest& request);

ConvolutionShape shape_of(ConvolutionPass pass, const KernelRequest& request);

/// Whether both inputs have the same element type, f32 or bf16.
bool is_computed(const KernelRequest& request);

}  // namespace regatta::cuda
