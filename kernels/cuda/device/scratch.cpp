// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device/scratch.h"

#include "kernels/cuda/device/cuda_call.h"
#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/device/room.h"
#include "kernels/runtime/device.h"

namespace regatta::cuda {

Scratch::Scratch(const Queue& queue, std::int64_t bytes) : bytes_(bytes) {
  if (bytes <= 0) return;
  if (queue.emulated()) {
    memory_ = {cpu_device().allocate(bytes), [](void* memory) { cpu_device().release(memory); }};
    return;
  }
  check_room(static_cast<std::size_t>(bytes));
  void* memory = nullptr;
  cuda_call(cudaMalloc(&memory, static_cast<std::size_t>(bytes)), "cudaMalloc");
  memory_ = {memory, free_on_gpu};
}

}  // namespace regatta::cuda
