// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/device/queue.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {

/// Enqueues the filling of an f32 or bf16 tensor with numbers spread evenly from -1 to 1, the same
/// in every run: for times that do not profit from zeros.
void fill_with_noise(Queue& queue, const Tensor& tensor);

}  // namespace regatta::cuda
