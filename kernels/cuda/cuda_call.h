// SPDX-License-Identifier: Apache-2.0
//
// The one way to look at what calls of the CUDA runtime return.
#pragma once

#include <cuda_runtime.h>

#include <source_location>
#include <string_view>

namespace regatta::cuda {

/// Throws: RunError(Device) with the call's name, CUDA's words, the caller's line and what to do
/// where `status` is not success.
void cuda_call(cudaError_t status, std::string_view call,
               std::source_location where = std::source_location::current());

}  // namespace regatta::cuda
