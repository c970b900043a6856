// SPDX-License-Identifier: Apache-2.0
//
// What we call of NCCL, found while the program runs (kernels/runtime/shared_library.h), named as
// in the library without its prefix; and the few calls of the CUDA runtime that NCCL's rules ask
// for around them. A test puts a table of its own below everything that is above this file. Only
// sources of this folder include it.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <source_location>
#include <string>
#include <string_view>

namespace regatta {

struct NcclCalls {
  decltype(ncclGetVersion)* get_version = nullptr;
  decltype(ncclGetErrorString)* get_error_string = nullptr;
  decltype(ncclGetLastError)* get_last_error = nullptr;
  decltype(ncclGetUniqueId)* get_unique_id = nullptr;
  decltype(ncclCommInitRankConfig)* comm_init_rank_config = nullptr;
  decltype(ncclCommGetAsyncError)* comm_get_async_error = nullptr;
  decltype(ncclCommFinalize)* comm_finalize = nullptr;
  decltype(ncclCommDestroy)* comm_destroy = nullptr;
  decltype(ncclCommAbort)* comm_abort = nullptr;
  decltype(ncclGroupStart)* group_start = nullptr;
  decltype(ncclGroupEnd)* group_end = nullptr;
  decltype(ncclAllReduce)* all_reduce = nullptr;
  /// A communicator belongs to the GPU that is the calling thread's when it is made.
  cudaError_t (*set_device)(int) = nullptr;
  cudaError_t (*event_create)(cudaEvent_t*, unsigned) = nullptr;
  cudaError_t (*event_destroy)(cudaEvent_t) = nullptr;
  cudaError_t (*event_record)(cudaEvent_t, cudaStream_t) = nullptr;
  cudaError_t (*event_query)(cudaEvent_t) = nullptr;
};

/// The library's. Throws: RunError(Unsupported) that names the package and where it was looked for.
const NcclCalls& nccl_library();

/// The library's words, with `where` it was called.
std::string nccl_words(const NcclCalls& calls, ncclResult_t result, ncclComm_t communicator);

/// Throws: RunError(Device) with the call's name, NCCL's words and the caller's line where `result`
/// is neither success nor under way.
void nccl_call(const NcclCalls& calls, ncclResult_t result, std::string_view call,
               std::source_location where = std::source_location::current());

/// The same of the CUDA runtime.
void cuda_call_for_nccl(cudaError_t status, std::string_view call,
                        std::source_location where = std::source_location::current());

}  // namespace regatta
