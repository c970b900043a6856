// SPDX-License-Identifier: Apache-2.0
//
// Copies host memory to a kernel's own device memory, once, when the kernel is built.
#pragma once

#include <span>

#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/device/scratch.h"

namespace regatta::cuda {

/// Copies `bytes` to `memory` and returns when the copy is complete. Throws: RunError(Device).
void write_bytes(Device& device, std::span<const std::byte> bytes, const Scratch& memory);

template <typename T>
Scratch upload(const Queue& queue, std::span<const T> elements) {
  Scratch memory(queue, static_cast<std::int64_t>(elements.size_bytes()));
  write_bytes(queue.device(), std::as_bytes(elements), memory);
  return memory;
}

/// Copies `elements` to device memory that several queues of the device use.
template <typename T>
Scratch upload(Device& device, std::span<const T> elements) {
  Scratch memory(device, static_cast<std::int64_t>(elements.size_bytes()));
  write_bytes(device, std::as_bytes(elements), memory);
  return memory;
}

}  // namespace regatta::cuda
