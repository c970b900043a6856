// SPDX-License-Identifier: Apache-2.0
//
// The implementations of a convolution and its gradients: a kernel of ours if windows are small;
// cuDNN if it is installed; otherwise, and on an emulated queue, tiles of an implicit matrix
// product (product.h). All take the same request.
#pragma once

#include <string>

#include "kernels/cuda/library/library_factories.h"
#include "kernels/cuda/ops/convolution_shape.h"

namespace regatta::cuda {

// convolution_library.cpp. Not for an emulated queue. Returns null if cuDNN has no engine for the
// request. Throws: RunError if cuDNN is not installed.
bool is_aligned_for_library(ConvolutionPass pass, const KernelRequest&);
KernelPointer convolution_library(ConvolutionPass pass, const KernelRequest&, EngineRule engines);

// convolution_direct.cu: a forward pass with small windows. Returns null for other requests.
KernelPointer convolution_direct(const KernelRequest&);

// convolution_tiles.cu. `why` is the reason why the library is not used, part of the kernel's
// choice().
KernelPointer convolution_tiles(ConvolutionPass pass, const KernelRequest&, const std::string& why);

}  // namespace regatta::cuda
