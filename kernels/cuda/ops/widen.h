// SPDX-License-Identifier: Apache-2.0
//
// Converts to f32 the results that a library cannot write to their destination.
#pragma once

#include "kernels/cuda/device/queue.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {

/// Enqueues to[i] = from[i] for all elements of `from`, which are f32 or bf16.
void widen(Queue& queue, const Tensor& from, float* to);

}  // namespace regatta::cuda
