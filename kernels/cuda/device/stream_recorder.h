// SPDX-License-Identifier: Apache-2.0
//
// Records a step of several streams as one CUDA graph, by stream capture. It keeps CUDA's rules:
//   - the origin's capture reaches another stream by an event that is recorded in one and awaited
//     in the other, and each stream it reached must be joined to the origin before the capture ends
//   - a capture begins and ends on one thread; its mode is thread-local, so that lanes of other
//     loops, which record or run meanwhile, may still allocate
//   - no call waits for the device or queries a stream or an event that is in the capture;
//     such a call makes the capture invalid, and look() reports it after the offending kernel
//   - a graph that is destroyed while it runs is freed when it has finished
// Kernels may be loaded during a capture since CUDA 12.3; ours is newer.
// Source: CUDA programming guide, CUDA Graphs; CUDA runtime API, stream and graph management.
#pragma once

#include <memory>

#include "kernels/runtime/capture/step_recorder.h"

namespace regatta::cuda {

/// Makes a recorder for queues of GPU number `device` that have a stream_place().
std::unique_ptr<StepRecorder> make_stream_recorder(int device);

}  // namespace regatta::cuda
