// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device/scratch.h"

#include "kernels/cuda/device/queue.h"

namespace regatta::cuda {

Scratch::Scratch(const Queue& queue, std::int64_t bytes) : bytes_(bytes) {
  if (bytes <= 0) return;
  Device& device = queue.device();
  memory_ = {device.allocate(bytes), Release{&device}};
}

void Scratch::Release::operator()(void* memory) const { device->release(memory); }

}  // namespace regatta::cuda
