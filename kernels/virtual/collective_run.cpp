// SPDX-License-Identifier: Apache-2.0
#include "kernels/virtual/collective_run.h"

#include <algorithm>

namespace regatta::virtual_time {

CollectiveRun::CollectiveRun(const CollectiveSchedule& schedule)
    : schedule_(schedule),
      members_(static_cast<std::size_t>(schedule.members())),
      arrived_(static_cast<std::size_t>(2 * schedule.steps() * schedule.members())) {}

void CollectiveRun::enter(double now, std::int64_t number) {
  Member& member = at(number);
  member.is_inside = true;
  member.has_sent = member.has_added = false;
  member.step = 0;
  member.came = now;
  const auto parity = static_cast<std::size_t>(member.round & 1);
  if (round_of_last_[parity] != member.round) {
    round_of_last_[parity] = member.round;
    last_came_[parity] = now;
  }
  last_came_[parity] = std::max(last_came_[parity], now);
}

CollectiveRun::Next CollectiveRun::next(std::int64_t number) {
  Member& member = at(number);
  if (member.is_adding) return {.kind = Next::Kind::Await};
  for (;;) {
    if (member.step == schedule_.steps()) {
      member.is_inside = false;
      ++member.round;
      return {.kind = Next::Kind::Leave};
    }
    schedule_.work(number, member.step, work_);
    if (!member.has_sent) {
      member.has_sent = true;
      if (!work_.sends.empty()) {
        return {.kind = Next::Kind::Send, .work = &work_, .slot = slot(member)};
      }
    }
    std::uint16_t& messages = arrived(number, slot(member));
    if (!member.has_added) {
      if (messages < work_.awaits) return {.kind = Next::Kind::Await};
      messages = 0;
      member.has_added = true;
      if (work_.adds_bytes > 0) {
        member.is_adding = true;
        return {.kind = Next::Kind::Add, .work = &work_};
      }
    }
    member.has_sent = member.has_added = false;
    ++member.step;
  }
}

}  // namespace regatta::virtual_time
