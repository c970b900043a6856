// SPDX-License-Identifier: Apache-2.0
//
// A step of several streams as one CUDA graph, by stream capture. CUDA's rules that this keeps:
//   - the origin's capture reaches another stream by an event that is recorded in one and awaited
//     in the other, and whatever it has reached has to be joined to the origin before it ends
//   - it begins and ends on one thread; its mode is thread-local, so that lanes of other loops,
//     which are recorded or run meanwhile, may still allocate
//   - nothing waits for the device and nothing asks a stream or an event that is in the capture;
//     what breaks that makes the capture invalid, which look() sees after the kernel that did it
//   - a graph that is destroyed while it runs is freed when it has run
// Kernels may be loaded in the midst of a capture since CUDA 12.3; ours is newer.
// Source: CUDA programming guide, CUDA Graphs; CUDA runtime API, stream and graph management.
#pragma once

#include <memory>

#include "kernels/cuda/device/graph_calls.h"
#include "kernels/runtime/capture/step_recorder.h"

namespace regatta::cuda {

/// For queues of GPU number `device` that have a stream_place().
std::unique_ptr<StepRecorder> make_stream_recorder(int device,
                                                   const GraphCalls& calls = cuda_graph_calls());

}  // namespace regatta::cuda
