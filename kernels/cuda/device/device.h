// SPDX-License-Identifier: Apache-2.0
//
// A GPU as a Device (kernels/runtime/device.h): managed memory that stays on the GPU until the host
// accesses it, and streams as queues. Tests also have an emulated GPU: host memory and queues that
// do their work at once; no flag of the program selects it.
#pragma once

#include <memory>

#include "kernels/runtime/device.h"

namespace regatta::cuda {

std::unique_ptr<Device> make_emulated_device();

}  // namespace regatta::cuda
