// SPDX-License-Identifier: Apache-2.0
//
// The two ways to compute a dense layer: cuBLASLt where it is installed; tiles of our own
// (product.h) where not, and on an emulated queue. Both take the same request.
#pragma once

#include <string>

#include "kernels/cuda/library/library_factories.h"

namespace regatta::cuda {

// dense_library.cpp. Not for an emulated queue. Null where cuBLASLt has no algorithm for it.
// Throws: RunError where cuBLASLt is not installed.
KernelPointer dense_library(const KernelRequest&);
KernelPointer dense_library_backward_data(const KernelRequest&);
KernelPointer dense_library_backward_weights(const KernelRequest&);

// dense_tiles.cu. `why` the library was not used is part of the kernel's choice().
KernelPointer dense_tiles(const KernelRequest&, const std::string& why);
KernelPointer dense_tiles_backward_data(const KernelRequest&, const std::string& why);
KernelPointer dense_tiles_backward_weights(const KernelRequest&, const std::string& why);

}  // namespace regatta::cuda
