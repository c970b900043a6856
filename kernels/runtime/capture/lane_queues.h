// SPDX-License-Identifier: Apache-2.0
//
// The queues of a process' lanes. A lane has one of its device, if that has queues. What comes from
// another device's memory is copied by a queue: by the lane's own or, where it has none (it is the
// host's) or cannot read there, by one that the other device has made for it.
// Threads: the one that builds the executor; then each lane its own queues.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "kernels/runtime/capture/queued_counts.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/on_device.h"
#include "kernels/runtime/placed_devices.h"
#include "kernels/runtime/plan.h"

namespace regatta {

class LaneQueues {
 public:
  /// The devices outlive this.
  LaneQueues(const Plan& plan, const PlacedDevices& devices);

  /// Null where kernels of the lane do their work at once.
  LaneQueue* of(std::size_t lane) const { return lanes_[lane].queue.get(); }
  /// What updates in the queue count.
  QueuedCounts* counts_of(std::size_t lane) const { return lanes_[lane].counts.get(); }
  /// Copies to the lane's memory from that of `source`. Null where none is needed: the memory is of
  /// the lane's own device, or both are the host's.
  LaneQueue* carrier(std::size_t lane, Device& source);
  /// Of all lanes, for a step that is captured.
  /// Throws: RunError(Unsupported) where they are on several, naming two places.
  Device& the_device() const;

 private:
  struct OfLane {
    Place place;
    Device* device = nullptr;
    std::unique_ptr<LaneQueue> queue;
    OnDevice<QueuedCounts> counts;
    std::map<Device*, std::unique_ptr<LaneQueue>> carriers;  ///< that sources have made
  };

  std::vector<OfLane> lanes_;
};

}  // namespace regatta
