// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device/upload.h"

namespace regatta::cuda {

void write_bytes(Device& device, std::span<const std::byte> bytes, const Scratch& memory) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (size > 0) device.write(memory.as<std::byte>(), bytes.data(), size);
}

}  // namespace regatta::cuda
