// SPDX-License-Identifier: Apache-2.0
//
// Checks the results of CUDA runtime calls.
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

/// Called after a GPU did not finish in time: calls that would wait for the GPU again are skipped
/// from now on, so that the process can end and report the reason. Threads: any, here and below.
void abandon_gpu();
bool is_gpu_abandoned();

/// cudaFree, unless the GPU has been abandoned.
void free_on_gpu(void* memory) noexcept;

}  // namespace regatta::cuda
