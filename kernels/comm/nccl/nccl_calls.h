// SPDX-License-Identifier: Apache-2.0
//
// The table of NCCL functions that we call, loaded at run time (kernels/runtime/shared_library.h).
// Each has the library's name without the prefix `nccl`. The table also has the CUDA runtime
// functions that these calls need. Only sources of this folder include this file.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <source_location>
#include <string>
#include <string_view>

namespace regatta::comm {

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
  decltype(ncclCommRegister)* comm_register = nullptr;
  decltype(ncclCommDeregister)* comm_deregister = nullptr;
  decltype(ncclGroupStart)* group_start = nullptr;
  decltype(ncclGroupEnd)* group_end = nullptr;
  decltype(ncclAllReduce)* all_reduce = nullptr;
  decltype(ncclReduce)* reduce = nullptr;
  decltype(ncclBroadcast)* broadcast = nullptr;
  /// Sets the calling thread's current GPU, to which a communicator created next belongs.
  cudaError_t (*set_device)(int) = nullptr;
  cudaError_t (*event_create)(cudaEvent_t*, unsigned) = nullptr;
  cudaError_t (*event_destroy)(cudaEvent_t) = nullptr;
  cudaError_t (*event_record)(cudaEvent_t, cudaStream_t) = nullptr;
  cudaError_t (*event_query)(cudaEvent_t) = nullptr;
};

/// Loads the installed library at the first call. Returns its functions.
/// Throws: RunError(Unsupported) that names the package and the places searched.
const NcclCalls& nccl_library();

/// Returns NCCL's message for `result`, with the communicator's last error.
std::string nccl_words(const NcclCalls& calls, ncclResult_t result, ncclComm_t communicator);

/// Checks the result of an NCCL call; ncclSuccess and ncclInProgress pass.
/// Throws: RunError(Device) with the call's name, NCCL's message and the caller's line.
void nccl_call(const NcclCalls& calls, ncclResult_t result, std::string_view call,
               std::source_location where = std::source_location::current());

/// Checks the result of a CUDA runtime call; only cudaSuccess passes.
/// Throws: RunError(Device) with the call's name, CUDA's error number and the caller's line.
void cuda_call_for_nccl(cudaError_t status, std::string_view call,
                        std::source_location where = std::source_location::current());

}  // namespace regatta::comm
