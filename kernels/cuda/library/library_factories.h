// SPDX-License-Identifier: Apache-2.0
//
// Factories of ops that NVIDIA's libraries compute if they are installed: dense by cuBLASLt,
// convolution by cuDNN. Without the library, and on an emulated queue, our own kernels run instead
// (dense_paths.h, convolution_paths.h); a kernel's choice() reports which of them it is. Formulas
// and shapes are in kernels/graph/ops. A factory returns null for element types that it does not
// support.
#pragma once

#include <memory>

#include "kernels/runtime/chosen_kernel.h"
#include "kernels/runtime/devices.h"

namespace regatta::cuda {

using KernelPointer = std::unique_ptr<Kernel>;

// dense.cpp
KernelPointer dense(const KernelRequest&);
KernelPointer dense_backward_data(const KernelRequest&);
KernelPointer dense_backward_weights(const KernelRequest&);

// convolution.cpp
KernelPointer convolution(const KernelRequest&, EngineRule engines);
KernelPointer convolution_backward_data(const KernelRequest&, EngineRule engines);
KernelPointer convolution_backward_weights(const KernelRequest&, EngineRule engines);

}  // namespace regatta::cuda
