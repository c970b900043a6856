// SPDX-License-Identifier: Apache-2.0
//
// The implementations of convolution: oneDNN's direct passes; Winograd's algorithm for nodes that
// the graph marks; and, for bf16, others that were measured to be faster under their conditions.
// Call a factory only if the condition declared above it, such as can_flip(), holds.
#pragma once

#include "kernels/runtime/kernel.h"

namespace regatta::cpu {

// convolution_onednn.cpp
KernelPointer convolution_onednn(const KernelRequest&);
KernelPointer convolution_backward_data_onednn(const KernelRequest&);
KernelPointer convolution_backward_weights_onednn(const KernelRequest&);

// convolution_winograd.cpp: all passes by Winograd's algorithm, for nodes that may be marked
// (kernels/rewrite/winograd.h). Sums are f32 for every element type.
KernelPointer convolution_winograd(const KernelRequest&);
KernelPointer convolution_backward_data_winograd(const KernelRequest&);
KernelPointer convolution_backward_weights_winograd(const KernelRequest&);

// convolution_flipped.cpp: backward data as a forward convolution of oneDNN with flipped weights.
bool can_flip(const KernelRequest&);
KernelPointer convolution_backward_data_flipped(const KernelRequest&);

// convolution_pixels.cpp: forward and backward data by products of AMX tiles.
bool can_go_by_pixels(const KernelRequest&);
KernelPointer convolution_pixels(const KernelRequest&);
KernelPointer convolution_backward_data_pixels(const KernelRequest&);

// convolution_tiles.cpp: backward weights by products of AMX tiles.
bool can_use_tiles(const KernelRequest&);
KernelPointer convolution_backward_weights_tiles(const KernelRequest&);

// convolution_point.cpp: backward weights of a window of one pixel as a product of matrices.
bool is_product_of_pixels(const KernelRequest&);
KernelPointer convolution_backward_weights_product(const KernelRequest&);

// convolution_depthwise.cpp: backward weights, channels in the lanes of registers.
bool is_depthwise_of_lanes(const KernelRequest&);
KernelPointer convolution_backward_weights_depthwise(const KernelRequest&);

}  // namespace regatta::cpu
