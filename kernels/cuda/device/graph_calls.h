// SPDX-License-Identifier: Apache-2.0
//
// The CUDA runtime functions that record and launch a step. Members are named like the functions,
// without the prefix `cuda`. Tests replace the table.
#pragma once

#include <cuda_runtime.h>

namespace regatta::cuda {

struct GraphCalls {
  cudaError_t (*set_device)(int) = nullptr;
  cudaError_t (*event_create)(cudaEvent_t*, unsigned flags) = nullptr;
  cudaError_t (*event_destroy)(cudaEvent_t) = nullptr;
  cudaError_t (*event_record)(cudaEvent_t, cudaStream_t) = nullptr;
  cudaError_t (*stream_wait_event)(cudaStream_t, cudaEvent_t, unsigned flags) = nullptr;
  cudaError_t (*stream_begin_capture)(cudaStream_t, cudaStreamCaptureMode) = nullptr;
  cudaError_t (*stream_is_capturing)(cudaStream_t, cudaStreamCaptureStatus*) = nullptr;
  cudaError_t (*stream_end_capture)(cudaStream_t, cudaGraph_t*) = nullptr;
  cudaError_t (*graph_instantiate)(cudaGraphExec_t*, cudaGraph_t, unsigned long long) = nullptr;
  cudaError_t (*graph_destroy)(cudaGraph_t) = nullptr;
  cudaError_t (*graph_upload)(cudaGraphExec_t, cudaStream_t) = nullptr;
  cudaError_t (*graph_launch)(cudaGraphExec_t, cudaStream_t) = nullptr;
  cudaError_t (*graph_exec_destroy)(cudaGraphExec_t) = nullptr;
};

/// Returns the table of the CUDA runtime's own functions.
const GraphCalls& cuda_graph_calls();

}  // namespace regatta::cuda
