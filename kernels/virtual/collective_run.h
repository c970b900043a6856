// SPDX-License-Identifier: Apache-2.0
//
// A collective in virtual time: where each member is in its schedule. Members begin a round when
// their lanes come to it; a member goes on when what it awaits in a step has arrived and is added
// up. Where members forward chunks, the first one of a message, once it is added up, suffices for
// the next step's send, whose other chunks go on as they come. No member is more than a round ahead
// of another.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/virtual/collective_schedule.h"

namespace regatta::virtual_time {

class CollectiveRun {
 public:
  /// `chunk_bytes`: what a member must have of a step's message before it sends in the next step;
  /// 0: all of it.
  CollectiveRun(const CollectiveSchedule& schedule, std::int64_t chunk_bytes);

  void enter(double now, std::int64_t member);
  /// The rest of a message of the member's step `slot` has arrived.
  void arrive(std::int64_t member, std::int64_t slot) { ++came_in(member, slot).rests; }
  /// With chunks, before the rest: the first of them.
  void first_arrives(std::int64_t member, std::int64_t slot) { ++came_in(member, slot).firsts; }
  std::int64_t chunk_bytes() const { return chunk_bytes_; }
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
    std::int64_t added = 0;  ///< bytes, of the message before, of which it sends the first chunk
    std::int64_t round = 0;
    std::int64_t step = 0;
    double came = 0;
  };
  /// What has come of the messages of a slot. A member holds those that it has not taken: few, but
  /// where it is late.
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
  /// Into `work_`, whether or not: what the step has the member do.
  bool has_received(std::int64_t member, std::int64_t step);

  const CollectiveSchedule& schedule_;
  std::int64_t chunk_bytes_;
  std::int64_t lag_;  ///< steps from a send to the receipt that is awaited behind it
  std::vector<Member> members_;
  std::vector<std::vector<Came>> came_;  ///< by member, in the order in which the first came
  MemberWork work_;
  double last_came_[2] = {0, 0};  ///< by parity of the round
  std::int64_t round_of_last_[2] = {-1, -1};
};

}  // namespace regatta::virtual_time
