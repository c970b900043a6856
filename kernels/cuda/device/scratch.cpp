// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device/scratch.h"

#include "kernels/cuda/device/queue.h"

namespace regatta::cuda {

Scratch::Scratch(Device& device, std::int64_t bytes) {
  if (bytes <= 0) return;
  memory_ = {device.allocate(bytes), Release{.device = &device, .held = nullptr, .bytes = bytes}};
}

Scratch::Scratch(const Queue& queue, std::int64_t bytes) : Scratch(queue.device(), bytes) {
  if (bytes <= 0) return;
  memory_.get_deleter().held = queue.held();
  *queue.held() += bytes;
}

void Scratch::Release::operator()(void* memory) const {
  device->release(memory);
  if (held != nullptr) *held -= bytes;
}

}  // namespace regatta::cuda
