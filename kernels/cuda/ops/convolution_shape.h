// SPDX-License-Identifier: Apache-2.0
//
// The sizes of a convolution and of its backward ops, for our kernels and cuDNN.
#pragma once

#include <cstdint>

#include "kernels/runtime/kernel.h"

namespace regatta::cuda {

/// The sizes of x [batch, height, width, inputs], w [outputs, kernel, kernel, inputs / groups] and
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

/// The request's inputs and output as x, w and y. The output takes the place of the tensor that the
/// pass computes: y, dx or dw.
struct ConvolutionTensors {
  Tensor x, w, y;
};
ConvolutionTensors tensors_of(ConvolutionPass pass, const KernelRequest& request);

ConvolutionShape shape_of(ConvolutionPass pass, const KernelRequest& request);

/// Whether both inputs have the same element type, f32 or bf16.
bool is_computed(const KernelRequest& request);

}  // namespace regatta::cuda
