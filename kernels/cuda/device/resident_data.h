// SPDX-License-Identifier: Apache-2.0
//
// A data set in memory that GPU kernels read: one copy in the GPU's memory, shared by all input
// nodes, or the host's own copy for an emulated queue.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/cuda/device/scratch.h"
#include "kernels/data/data_set.h"

namespace regatta::cuda {

struct ResidentData {
  const void* inputs = nullptr;   ///< the values of DataSet::inputs
  const void* targets = nullptr;  ///< the values of DataSet::targets
  Scratch memory[2];              ///< owns both; empty for an emulated queue
};

/// Returns the data set in the memory of the queue's device, after it has been copied there. All
/// users share one copy, freed with the last of them. Threads: any. Throws: RunError(Device) if
/// memory is short.
std::shared_ptr<const ResidentData> resident(const Queue& queue, const DataSet& data);

}  // namespace regatta::cuda
