// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device/upload.h"

namespace regatta::cuda {

Scratch upload_bytes(const Queue& queue, std::span<const std::byte> bytes) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  Scratch memory(queue, size);
  if (size > 0) queue.device().write(memory.as<std::byte>(), bytes.data(), size);
  return memory;
}

}  // namespace regatta::cuda
