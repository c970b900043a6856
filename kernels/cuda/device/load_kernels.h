// SPDX-License-Identifier: Apache-2.0
//
// Loads this program's kernels into a GPU before the first step. CUDA's default is to load a kernel
// at its first launch; with CUDA_MODULE_LOADING=EAGER it would also load all kernels of the
// libraries. Source: CUDA C++ Programming Guide, Lazy Loading.
#pragma once

#include <cstddef>

namespace regatta::cuda {

/// Notes a kernel for load_kernels(). Called for each kernel before main() (launch.h). Returns
/// true.
bool note_kernel(const void* kernel);

std::size_t noted_kernels();

/// Loads all noted kernels into the current GPU. Throws: RunError(Device).
void load_kernels();

}  // namespace regatta::cuda
