// SPDX-License-Identifier: Apache-2.0
//
// A data set in memory that GPU kernels read: one copy in the GPU's memory for all its input nodes;
// the host's own copy for an emulated queue.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/cuda/device/scratch.h"
#include "kernels/graph/data_set.h"

namespace regatta::cuda {

struct ResidentData {
  const std::uint8_t* images = nullptr;  ///< [count, side, side, channels]
  const std::int32_t* labels = nullptr;  ///< [count]
  const float* features = nullptr;       ///< [count, features per example]
  const float* targets = nullptr;        ///< [count, targets per example]
  Scratch memory[4];                     ///< owns the four arrays; empty for an emulated queue
};

/// The data set in the memory of the queue's device. Shared by all users and freed with the last
/// one. Returns when the data is there. Threads: any. Throws: RunError(Device) if memory is short.
std::shared_ptr<const ResidentData> resident(const Queue& queue, const DataSet& data);

}  // namespace regatta::cuda
