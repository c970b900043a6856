// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/device/queue.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {

/// Enqueues a fill of an f32 or bf16 tensor with numbers spread evenly from -1 to 1, the same in
/// every run. For measurements, in which kernels would seem too fast with zeros.
void fill_with_noise(Queue& queue, const Tensor& tensor);

}  // namespace regatta::cuda
