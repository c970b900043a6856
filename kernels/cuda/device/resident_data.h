// SPDX-License-Identifier: Apache-2.0
//
// A data set where kernels on a GPU read it: in the GPU's memory, once for all input nodes there;
// for an emulated queue, where it is.
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
  Scratch memory[4];                     ///< of these; empty for an emulated queue
};

/// Lives as long as one of its users. Returns when the data is there. Threads: any.
/// Throws: RunError(Device) where the GPU has no room for it.
std::shared_ptr<const ResidentData> resident(const Queue& queue, const DataSet& data);

}  // namespace regatta::cuda
