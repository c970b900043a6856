// SPDX-License-Identifier: Apache-2.0
//
// A queue of future events in virtual time. Events of the same time are taken in the order in which
// they were added, so that runs are bitwise reproducible. Units: nanoseconds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace regatta::virtual_time {

enum class EventKind : std::uint8_t {
  LaneGoesOn,     ///< a lane has finished computing
  MessageBegins,  ///< a message's fixed cost has been paid: its bytes may leave
  FlowEnds,       ///< the last byte of a flow has left
  MessageArrives,
  ComputeEnds,   ///< a flow of computing on shared cores has ended
  MemberGoesOn,  ///< a member of a collective has added up the messages it received
};

struct Event {
  double time = 0;
  std::uint64_t number = 0;  ///< set by the queue
  EventKind kind = EventKind::LaneGoesOn;
  std::int32_t index = 0;   ///< of the lane, channel, flow, message or collective
  std::int64_t detail = 0;  ///< further data, which depends on the kind
};

class EventQueue {
 public:
  void add(Event event) {
    event.number = added_++;
    events_.push_back(event);
    std::push_heap(events_.begin(), events_.end(), Later());
  }
  bool empty() const { return events_.empty(); }
  std::size_t size() const { return events_.size(); }
  const Event& next() const { return events_.front(); }
  Event take() {
    std::pop_heap(events_.begin(), events_.end(), Later());
    const Event event = events_.back();
    events_.pop_back();
    return event;
  }
  /// Removes the events for which is_void(event) is true.
  template <typename Predicate>
  void drop(Predicate is_void) {
    std::erase_if(events_, is_void);
    std::make_heap(events_.begin(), events_.end(), Later());
  }
  std::uint64_t added() const { return added_; }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return a.time != b.time ? a.time > b.time : a.number > b.number;
    }
  };
  std::vector<Event> events_;  ///< a heap
  std::uint64_t added_ = 0;
};

}  // namespace regatta::virtual_time
