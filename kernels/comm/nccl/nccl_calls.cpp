// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/nccl/nccl_calls.h"

#include "kernels/comm/nccl/nccl_transport.h"
#include "kernels/runtime/shared_library.h"

namespace regatta::comm {
namespace {

// Minimum version: communicators that do not block, and can be aborted in every state, work since
// 2.18; buffers can be registered since 2.19.
constexpr int kOldestNccl = 21900;

NcclCalls load_calls() {
  const SharedLibrary library(kNcclLibrary);
  NcclCalls calls;
  library.find(calls.get_version, "ncclGetVersion");
  int version = 0;
  calls.get_version(&version);
  library.require(version, kOldestNccl, "2.19");
  library.find(calls.get_error_string, "ncclGetErrorString");
  library.find(calls.get_last_error, "ncclGetLastError");
  library.find(calls.get_unique_id, "ncclGetUniqueId");
  library.find(calls.comm_init_rank_config, "ncclCommInitRankConfig");
  library.find(calls.comm_get_async_error, "ncclCommGetAsyncError");
  library.find(calls.comm_finalize, "ncclCommFinalize");
  library.find(calls.comm_destroy, "ncclCommDestroy");
  library.find(calls.comm_abort, "ncclCommAbort");
  library.find(calls.comm_register, "ncclCommRegister");
  library.find(calls.comm_deregister, "ncclCommDeregister");
  library.find(calls.group_start, "ncclGroupStart");
  library.find(calls.group_end, "ncclGroupEnd");
  library.find(calls.all_reduce, "ncclAllReduce");
  library.find(calls.reduce, "ncclReduce");
  library.find(calls.broadcast, "ncclBroadcast");
  calls.set_device = cudaSetDevice;
  calls.event_create = cudaEventCreateWithFlags;
  calls.event_destroy = cudaEventDestroy;
  calls.event_record = [](cudaEvent_t event, cudaStream_t stream) {
    return cudaEventRecord(event, stream);
  };
  calls.event_query = cudaEventQuery;
  return calls;
}

}  // namespace

const NcclCalls& nccl_library() {
  static const NcclCalls calls = load_calls();
  return calls;
}

std::string why_no_nccl() { return why_not(nccl_library); }

std::optional<std::string> version_of_nccl() {
  if (!why_no_nccl().empty()) return std::nullopt;
  int version = 0;
  nccl_library().get_version(&version);
  return version_text(static_cast<std::size_t>(version));
}

std::string nccl_words(const NcclCalls& calls, ncclResult_t result, ncclComm_t communicator) {
  std::string words = calls.get_error_string(result);
  const char* details = calls.get_last_error(communicator);
  if (details != nullptr && *details != '\0') words += std::string(" (") + details + ")";
  return words;
}

void nccl_call(const NcclCalls& calls, ncclResult_t result, std::string_view call,
               std::source_location where) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  call_failed(call, nccl_words(calls, result, nullptr), where);
}

void cuda_call_for_nccl(cudaError_t status, std::string_view call, std::source_location where) {
  if (status == cudaSuccess) return;
  call_failed(call, "CUDA error " + std::to_string(static_cast<int>(status)), where);
}

}  // namespace regatta::comm
