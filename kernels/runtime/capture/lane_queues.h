// SPDX-License-Identifier: Apache-2.0
//
// The queues of a process' lanes: one for each lane whose device has queues. Another device's
// memory is copied by the lane's own queue or, where the lane has none or its device cannot read
// that memory, by a queue of the other device.
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
  /// Memory of devices that all of them and their kernels hold beside planned blocks.
  std::int64_t held_bytes() const;
  /// The device of all lanes, for a step that is captured.
  /// Throws: RunError(Unsupported) that names two places when lanes are on several devices.
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
