// SPDX-License-Identifier: Apache-2.0
//
// The two implementations of dense: cuBLASLt if it is installed; otherwise, and on an emulated
// queue, our own tiles (product.h). Both take the same request.
#pragma once

#include <string>

#include "kernels/runtime/chosen_kernel.h"

namespace regatta::cuda {

// dense.cpp: chooses one of the two.
KernelPointer dense(const KernelRequest&);
KernelPointer dense_backward_data(const KernelRequest&);
KernelPointer dense_backward_weights(const KernelRequest&);

// dense_library.cpp. Not for an emulated queue. Returns null if cuBLASLt has no algorithm for the
// request. Throws: RunError if cuBLASLt is not installed.
KernelPointer dense_library(const KernelRequest&);
KernelPointer dense_library_backward_data(const KernelRequest&);
KernelPointer dense_library_backward_weights(const KernelRequest&);

// dense_tiles.cu. `why` is the reason why the library is not used, part of the kernel's choice().
KernelPointer dense_tiles(const KernelRequest&, const std::string& why);
KernelPointer dense_tiles_backward_data(const KernelRequest&, const std::string& why);
KernelPointer dense_tiles_backward_weights(const KernelRequest&, const std::string& why);

}  // namespace regatta::cuda
