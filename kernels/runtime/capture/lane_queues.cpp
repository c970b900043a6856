// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/capture/lane_queues.h"

#include "kernels/base/error.h"

namespace regatta {

LaneQueues::LaneQueues(const Plan& plan, const PlacedDevices& devices) {
  for (const LanePlan& lane : plan.lanes()) {
    OfLane& added = lanes_.emplace_back();
    added.place = lane.place;
    added.device = &devices.device(lane.place);
    added.queue = added.device->make_queue();
  }
}

LaneQueue* LaneQueues::carrier(std::size_t lane, Device& source) {
  OfLane& own = lanes_[lane];
  if (own.device == &source) return nullptr;
  if (own.queue != nullptr) return own.queue.get();
  if (own.fetching == nullptr) own.fetching = source.make_queue();
  return own.fetching.get();
}

std::int64_t LaneQueues::held_bytes() const {
  std::int64_t bytes = 0;
  for (const OfLane& lane : lanes_) {
    if (lane.queue != nullptr) bytes += lane.queue->held_bytes();
    if (lane.fetching != nullptr) bytes += lane.fetching->held_bytes();
  }
  return bytes;
}

Device& LaneQueues::the_device() const {
  const OfLane& first = lanes_.front();
  for (const OfLane& lane : lanes_) {
    if (lane.device == first.device) continue;
    throw RunError(ErrorKind::Unsupported, "a step is captured on one device only, but " +
                                               to_string(first.place) + " and " +
                                               to_string(lane.place) + " are on two");
  }
  return *first.device;
}

}  // namespace regatta
