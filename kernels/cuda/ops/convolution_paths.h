// SPDX-License-Identifier: Apache-2.0
//
// The ways to compute a convolution and its gradients: cuDNN where it is installed; where not, and
// on an emulated queue, kernels of our own: tiles of an implicit product of matrices (product.h),
// or one thread a result where groups are too narrow to fill a tile. All take the same request.
#pragma once

#include <string>

#include "kernels/cuda/library/library_factories.h"
#include "kernels/cuda/ops/convolution_shape.h"

namespace regatta::cuda {

// convolution_library.cpp. Not for an emulated queue. Null where cuDNN has no engine for it.
// Throws: RunError where cuDNN is not installed.
bool is_aligned_for_library(ConvolutionPass pass, const KernelRequest&);
KernelPointer convolution_library(ConvolutionPass pass, const KernelRequest&, EngineRule engines);

// convolution_tiles.cu. `why` the library was not used is part of the kernel's choice().
KernelPointer convolution_tiles(ConvolutionPass pass, const KernelRequest&, const std::string& why);

// convolution_narrow.cu.
bool has_narrow_groups(const ConvolutionShape& shape);
KernelPointer convolution_narrow(ConvolutionPass pass, const KernelRequest&,
                                 const std::string& why);

}  // namespace regatta::cuda
