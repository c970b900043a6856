// SPDX-License-Identifier: Apache-2.0
//
// Copies host memory to memory of a kernel's own, once, when the kernel is built.
#pragma once

#include <span>

#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/device/scratch.h"

namespace regatta::cuda {

/// Returns when the bytes are there. Throws: RunError(Device).
Scratch upload_bytes(const Queue& queue, std::span<const std::byte> bytes);

template <typename T>
Scratch upload(const Queue& queue, std::span<const T> elements) {
  return upload_bytes(queue, std::as_bytes(elements));
}

}  // namespace regatta::cuda
