// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device/upload.h"

#include <cstring>

#include "kernels/cuda/device/cuda_call.h"

namespace regatta::cuda {

Scratch upload_bytes(const Queue& queue, std::span<const std::byte> bytes) {
  Scratch memory(queue, static_cast<std::int64_t>(bytes.size()));
  if (bytes.empty()) return memory;
  if (queue.emulated()) {
    std::memcpy(memory.as<std::byte>(), bytes.data(), bytes.size());
  } else {
    // In the queue's order: its stream waits for no other, cudaMemcpy's neither.
    cuda_call(cudaMemcpyAsync(memory.as<std::byte>(), bytes.data(), bytes.size(), cudaMemcpyDefault,
                              queue.stream()),
              "cudaMemcpyAsync");
    cuda_call(cudaStreamSynchronize(queue.stream()), "cudaStreamSynchronize");
  }
  return memory;
}

}  // namespace regatta::cuda
