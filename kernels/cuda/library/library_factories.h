// SPDX-License-Identifier: Apache-2.0
//
// Factories for convolutions, which cuDNN computes if it is installed. Without the library, and on
// an emulated queue, our own kernels run instead (convolution_paths.h); a kernel's choice() reports
// which of them it is. A factory returns null for unsupported element types.
#pragma once

#include <memory>

#include "kernels/runtime/chosen_kernel.h"
#include "kernels/runtime/devices.h"

namespace regatta::cuda {

KernelPointer convolution(const KernelRequest&, EngineRule engines);
KernelPointer convolution_backward_data(const KernelRequest&, EngineRule engines);
KernelPointer convolution_backward_weights(const KernelRequest&, EngineRule engines);

}  // namespace regatta::cuda
