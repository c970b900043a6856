// SPDX-License-Identifier: Apache-2.0
//
// One collective in virtual time: the progress of each member through the collective's schedule. A
// member begins a round when its lane reaches the collective. It goes on to the next step when the
// messages that the current step awaits have arrived and are added up. A member that forwards
// chunks sends the first one in the next step as soon as it is added up, and the others as they
// arrive. No member is more than one round ahead of another.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/virtual/collective_schedule.h"

namespace regatta::virtual_time {

class CollectiveRun {
 public:
  /// `chunk_bytes` is the size of a message's first chunk, after which the next step's send begins;
  /// 0: after the whole message. `members` is 1 if all members are alike; the first then runs for
  /// all. `schedule` must outlive this object.
  CollectiveRun(const CollectiveSchedule& schedule, std::int64_t chunk_bytes, std::int64_t members);

  void enter(double now, std::int64_t member);
  /// Records that the rest of a message for the member's step `slot` has arrived.
  void arrive(std::int64_t member, std::int64_t slot) { ++came_in(member, slot).rests; }
  /// Records that the first chunk of a message has arrived, ahead of the rest.
  void first_arrives(std::int64_t member, std::int64_t slot) { ++came_in(member, slot).firsts; }
  std::int64_t chunk_bytes() const { return chunk_bytes_; }
  std::int64_t members() const { return std::ssize(members_); }
  bool is_inside(std::int64_t member) const { return at(member).is_inside; }

  /// The next action of a member.
  struct Next {
    enum class Kind : std::uint8_t { Await, Send, Add, Leave };
    Kind kind = Kind::Await;
    const MemberWork* work = nullptr;  ///< Send, Add; valid until the next call of next()
    std::int64_t slot = 0;             ///< Send: the slot of the messages
  };
  /// Returns the next action of `member`. Call it again after Send, because the member may have
  /// more to do.
  Next next(std::int64_t member);
  void has_added_up(std::int64_t member) { at(member).is_adding = false; }
  /// Returns the time at which the last member entered the round that `member` has just left.
  double last_came(std::int64_t member) const {
    return last_came_[static_cast<std::size_t>((at(member).round - 1) & 1)];
  }
  double came(std::int64_t member) const { return at(member).came; }

 private:
  struct Member {
    bool is_inside = false;
    bool has_sent = false;  ///< whether it has sent in this step
    bool has_added = false;
    bool is_adding = false;
    std::int64_t added = 0;  ///< bytes of the previous message's first chunk, already added up
    std::int64_t round = 0;
    std::int64_t step = 0;
    double came = 0;
  };
  /// Arrivals for one slot, until the member takes them: few, unless the member is late.
  struct Came {
    std::int64_t slot = 0;
    std::int32_t firsts = 0;
    std::int32_t rests = 0;
  };
  Member& at(std::int64_t member) { return members_[static_cast<std::size_t>(member)]; }
  const Member& at(std::int64_t member) const { return members_[static_cast<std::size_t>(member)]; }
  std::int64_t slot(const Member& member, std::int64_t step) const {
    return (member.round & 1) * schedule_.steps() + step;
  }
  bool by_chunks() const { return chunk_bytes_ > 0; }
  Came& came_in(std::int64_t member, std::int64_t slot);
  bool has_first(std::int64_t member, std::int64_t step) const;
  /// Whether the step's messages have arrived. Sets `work_` to the step's work in either case.
  bool has_received(std::int64_t member, std::int64_t step);

  const CollectiveSchedule& schedule_;
  std::int64_t chunk_bytes_;
  std::int64_t lag_;  ///< steps by which the awaited receipt is behind the send
  std::vector<Member> members_;
  std::vector<std::vector<Came>> came_;  ///< [member]: slots in the order of their first arrival
  MemberWork work_;
  double last_came_[2] = {0, 0};  ///< [parity of the round]
  std::int64_t round_of_last_[2] = {-1, -1};
};

}  // namespace regatta::virtual_time
