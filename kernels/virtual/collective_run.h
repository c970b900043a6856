// SPDX-License-Identifier: Apache-2.0
//
// A collective in virtual time: where each member is in its schedule. Members begin a round when
// their lanes come to it; a member goes on when what it awaits in a step has arrived and is added
// up. No member is more than a round ahead of another.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/virtual/collective_schedule.h"

namespace regatta::virtual_time {

class CollectiveRun {
 public:
  explicit CollectiveRun(const CollectiveSchedule& schedule);

  void enter(double now, std::int64_t member);
  /// A message of the member's step `slot` has arrived.
  void arrive(std::int64_t member, std::int64_t slot) { ++arrived(member, slot); }
  bool is_inside(std::int64_t member) const { return at(member).is_inside; }

  /// What a member has to do next.
  struct Next {
    enum class Kind : std::uint8_t { Await, Send, Add, Leave };
    Kind kind = Kind::Await;
    const MemberWork* work = nullptr;  ///< Send, Add: valid until the next call
    std::int64_t slot = 0;             ///< of the messages that are sent
  };
  /// Asked again until the member awaits something, adds up or leaves.
  Next next(std::int64_t member);
  void has_added_up(std::int64_t member) { at(member).is_adding = false; }
  /// Once it has left: when the last of its round's members came.
  double last_came(std::int64_t member) const {
    return last_came_[static_cast<std::size_t>((at(member).round - 1) & 1)];
  }
  double came(std::int64_t member) const { return at(member).came; }

 private:
  struct Member {
    bool is_inside = false;
    bool has_sent = false;  ///< in this step
    bool has_added = false;
    bool is_adding = false;
    std::int64_t round = 0;
    std::int64_t step = 0;
    double came = 0;
  };
  Member& at(std::int64_t member) { return members_[static_cast<std::size_t>(member)]; }
  const Member& at(std::int64_t member) const { return members_[static_cast<std::size_t>(member)]; }
  std::int64_t slot(const Member& member) const {
    return (member.round & 1) * schedule_.steps() + member.step;
  }
  std::uint16_t& arrived(std::int64_t member, std::int64_t slot) {
    return arrived_[static_cast<std::size_t>(member * 2 * schedule_.steps() + slot)];
  }

  const CollectiveSchedule& schedule_;
  std::vector<Member> members_;
  std::vector<std::uint16_t> arrived_;  ///< by member, parity of the round, step
  MemberWork work_;
  double last_came_[2] = {0, 0};  ///< by parity of the round
  std::int64_t round_of_last_[2] = {-1, -1};
};

}  // namespace regatta::virtual_time
