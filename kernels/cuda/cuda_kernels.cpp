// SPDX-License-Identifier: Apache-2.0
//
// Every op on a GPU.
#include "kernels/runtime/devices.h"

namespace regatta {

void add_cuda_kernels(KernelTable&) {}

}  // namespace regatta
