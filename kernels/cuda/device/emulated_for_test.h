// SPDX-License-Identifier: Apache-2.0
//
// For tests: a GPU that is emulated. It has host memory, and queues that run the same kernels as
// loops on the calling thread: done when the launch returns, or when the step that they are
// recorded in is launched (function_recording_for_test.h).
#pragma once

#include <memory>

#include "kernels/cuda/device/queue.h"
#include "kernels/runtime/device.h"

namespace regatta::cuda {

std::unique_ptr<Device> make_emulated_device();
std::unique_ptr<Queue> make_emulated_queue();
/// By the host's clock, read when the queue comes to it.
std::unique_ptr<QueueMark> make_emulated_mark(Queue& queue);

}  // namespace regatta::cuda
