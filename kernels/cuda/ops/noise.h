// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/device/queue.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {

/// Fills an f32 or bf16 tensor, in the queue, with numbers spread evenly from -1 to 1, the same in
/// every run: timings with zeros would be too good.
void fill_with_noise(Queue& queue, const Tensor& tensor);

}  // namespace regatta::cuda
