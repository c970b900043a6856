// SPDX-License-Identifier: Apache-2.0
//
// The one way to look at what calls of the CUDA runtime return.
#pragma once

#include <cuda_runtime.h>

#include <source_location>
#include <string>
#include <string_view>

namespace regatta::cuda {

/// Throws: RunError(Device) with the call's name, CUDA's words, the caller's line and what to do
/// where `status` is not success.
void cuda_call(cudaError_t status, std::string_view call,
               std::source_location where = std::source_location::current());

/// `0000:1b:00.0`: names a GPU on its host. Throws: RunError(Device).
std::string bus_address(int device);

/// After a GPU did not finish in time: whatever would wait for it again is left as it is, so that
/// the process can end and say why. Threads: any, as below.
void abandon_gpu();
bool is_gpu_abandoned();

/// cudaFree, unless the GPU has been abandoned.
void free_on_gpu(void* memory) noexcept;

}  // namespace regatta::cuda
