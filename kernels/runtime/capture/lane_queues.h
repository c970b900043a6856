// SPDX-License-Identifier: Apache-2.0
//
// The queues of a process's lanes: one for each lane on a device with queues. A copy between the
// host and a GPU runs in the lane's own queue or, if the lane is the host's, in a queue of the GPU.
// Threads: used from the thread that builds the executor; each queue then only by its lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/runtime/device.h"
#include "kernels/runtime/placed_devices.h"
#include "kernels/runtime/plan.h"

namespace regatta {

class LaneQueues {
 public:
  /// The devices must outlive this object.
  LaneQueues(const Plan& plan, const PlacedDevices& devices);

  /// Returns the lane's queue; null if the lane's kernels compute in run() itself.
  LaneQueue* of(std::size_t lane) const { return lanes_[lane].queue.get(); }
  /// Returns the queue that copies from the memory of `source` to that of the lane's device. Null
  /// if the lane reads that memory itself: both are one device's memory, or both are host memory.
  LaneQueue* carrier(std::size_t lane, Device& source);
  /// Returns the bytes of device memory that all queues and their kernels hold beyond the planned
  /// blocks (memory.h).
  std::int64_t held_bytes() const;
  /// Returns the device of all lanes; a captured step requires that they have a single one.
  /// Throws: RunError(Unsupported) that names two places whose lanes are on different devices.
  Device& the_device() const;

 private:
  struct OfLane {
    Place place;
    Device* device = nullptr;
    std::unique_ptr<LaneQueue> queue;
    std::unique_ptr<LaneQueue> fetching;  ///< of the GPU, for a lane of the host; null: unused
  };

  std::vector<OfLane> lanes_;
};

}  // namespace regatta
