// SPDX-License-Identifier: Apache-2.0
//
// A GPU as a Device (kernels/runtime/device.h): managed memory that stays on the GPU until the host
// looks, and streams for queues. For tests there is an emulated one: host memory and queues whose
// work is done at once; no flag of the program leads to it.
#pragma once

#include <memory>

#include "kernels/runtime/device.h"

namespace regatta::cuda {

std::unique_ptr<Device> make_emulated_device();

}  // namespace regatta::cuda
