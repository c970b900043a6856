// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device/graph_calls.h"

namespace regatta::cuda {

/// Wraps each call in a lambda, because some of the runtime's names are overloaded.
const GraphCalls& cuda_graph_calls() {
  static const GraphCalls calls{
      .set_device = [](int device) { return cudaSetDevice(device); },
      .event_create = [](cudaEvent_t* event,
                         unsigned flags) { return cudaEventCreateWithFlags(event, flags); },
      .event_destroy = [](cudaEvent_t event) { return cudaEventDestroy(event); },
      .event_record = [](cudaEvent_t event,
                         cudaStream_t stream) { return cudaEventRecord(event, stream); },
      .stream_wait_event = [](cudaStream_t stream, cudaEvent_t event,
                              unsigned flags) { return cudaStreamWaitEvent(stream, event, flags); },
      .stream_begin_capture =
          [](cudaStream_t stream, cudaStreamCaptureMode mode) {
            return cudaStreamBeginCapture(stream, mode);
          },
      .stream_is_capturing =
          [](cudaStream_t stream, cudaStreamCaptureStatus* status) {
            return cudaStreamIsCapturing(stream, status);
          },
      .stream_end_capture = [](cudaStream_t stream,
                               cudaGraph_t* graph) { return cudaStreamEndCapture(stream, graph); },
      .graph_instantiate =
          [](cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
            return cudaGraphInstantiate(executable, graph, flags);
          },
      .graph_destroy = [](cudaGraph_t graph) { return cudaGraphDestroy(graph); },
      .graph_upload = [](cudaGraphExec_t executable,
                         cudaStream_t stream) { return cudaGraphUpload(executable, stream); },
      .graph_launch = [](cudaGraphExec_t executable,
                         cudaStream_t stream) { return cudaGraphLaunch(executable, stream); },
      .graph_exec_destroy =
          [](cudaGraphExec_t executable) { return cudaGraphExecDestroy(executable); }};
  return calls;
}

}  // namespace regatta::cuda
