// SPDX-License-Identifier: Apache-2.0
//
// Checks the results of CUDA runtime calls.
#pragma once

#include <cuda_runtime.h>

#include <source_location>
#include <string>
#include <string_view>

namespace regatta::cuda {

/// Checks that `status` is success. Throws: RunError(Device) with the call's name, CUDA's message,
/// the caller's line and a remedy.
void cuda_call(cudaError_t status, std::string_view call,
               std::source_location where = std::source_location::current());

/// Returns the GPU's address on its host's PCI bus, like `0000:1b:00.0`. Throws: RunError(Device).
std::string bus_address(int device);

/// Declares that a GPU did not finish in time: from now on, calls that would wait for the GPU are
/// skipped, so that the process can end and report the reason. Threads: any; also for the functions
/// below.
void abandon_gpu();
bool is_gpu_abandoned();

/// Calls cudaFree unless the GPU has been abandoned.
void free_on_gpu(void* memory) noexcept;

}  // namespace regatta::cuda
