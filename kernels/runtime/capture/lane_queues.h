// SPDX-License-Identifier: Apache-2.0
//
// The queues of a process' lanes: one for each lane on a device with queues. A copy from another
// device's memory runs in the lane's own queue or, if the lane has none or its device cannot read
// that memory, in a queue of the other device.
// Threads: the thread that builds the executor; then each lane uses its own queues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "kernels/runtime/device.h"
#include "kernels/runtime/placed_devices.h"
#include "kernels/runtime/plan.h"

namespace regatta {

class LaneQueues {
 public:
  /// The devices outlive this.
  LaneQueues(const Plan& plan, const PlacedDevices& devices);

  /// Null where kernels of the lane compute in run() itself.
  LaneQueue* of(std::size_t lane) const { return lanes_[lane].queue.get(); }
  /// The queue that copies from `source`'s memory to the lane's. Null where no copy is needed: both
  /// are the same device's memory or both the host's.
  LaneQueue* carrier(std::size_t lane, Device& source);
  /// Device memory that all queues and their kernels hold outside planned blocks. Units: bytes.
  std::int64_t held_bytes() const;
  /// The one device of all lanes, as a captured step needs it.
  /// Throws: RunError(Unsupported) that names two places if lanes are on several devices.
  Device& the_device() const;

 private:
  struct OfLane {
    Place place;
    Device* device = nullptr;
    std::unique_ptr<LaneQueue> queue;
    std::map<Device*, std::unique_ptr<LaneQueue>> carriers;  ///< by the device that made them
  };

  std::vector<OfLane> lanes_;
};

}  // namespace regatta
