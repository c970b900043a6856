// SPDX-License-Identifier: Apache-2.0
#include "kernels/virtual/collective_run.h"

#include <algorithm>
#include <utility>

namespace regatta::virtual_time {

CollectiveRun::CollectiveRun(const CollectiveSchedule& schedule, std::int64_t chunk_bytes,
                             std::int64_t members)
    : schedule_(schedule),
      chunk_bytes_(chunk_bytes),
      lag_(by_chunks() ? 1 : 0),
      members_(static_cast<std::size_t>(members)),
      came_(members_.size()) {}

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

CollectiveRun::Came& CollectiveRun::came_in(std::int64_t number, std::int64_t slot) {
  std::vector<Came>& all = came_[static_cast<std::size_t>(number)];
  const auto found = std::find_if(all.rbegin(), all.rend(),
                                  [slot](const Came& each) { return each.slot == slot; });
  return found != all.rend() ? *found : all.emplace_back(Came{.slot = slot});
}

bool CollectiveRun::has_first(std::int64_t number, std::int64_t step) const {
  const std::int64_t slot = this->slot(at(number), step);
  const std::vector<Came>& all = came_[static_cast<std::size_t>(number)];
  return std::any_of(all.begin(), all.end(),
                     [slot](const Came& each) { return each.slot == slot && each.firsts > 0; });
}

bool CollectiveRun::has_received(std::int64_t number, std::int64_t step) {
  schedule_.work(number, step, work_);
  if (work_.awaits > 0) {
    const std::int64_t slot = this->slot(at(number), step);
    std::vector<Came>& all = came_[static_cast<std::size_t>(number)];
    const auto found = std::find_if(all.begin(), all.end(),
                                    [slot](const Came& each) { return each.slot == slot; });
    if (found == all.end() || found->rests < work_.awaits) return false;
    all.erase(found);
  }
  work_.adds_bytes -= std::exchange(at(number).added, 0);
  return true;
}

CollectiveRun::Next CollectiveRun::next(std::int64_t number) {
  Member& member = at(number);
  if (member.is_adding) return {.kind = Next::Kind::Await};
  for (;;) {
    if (member.step == schedule_.steps() + lag_) {
      member.is_inside = false;
      ++member.round;
      return {.kind = Next::Kind::Leave};
    }
    if (!member.has_sent && member.step < schedule_.steps()) {
      if (by_chunks() && member.step > 0 && member.added == 0) {
        if (!has_first(number, member.step - 1)) return {.kind = Next::Kind::Await};
        schedule_.work(number, member.step - 1, work_);
        work_.adds_bytes = member.added = std::min(chunk_bytes_, work_.adds_bytes);
        if (member.added > 0) {
          member.is_adding = true;
          return {.kind = Next::Kind::Add, .work = &work_};
        }
      }
      member.has_sent = true;
      schedule_.work(number, member.step, work_);
      if (!work_.sends.empty()) {
        return {.kind = Next::Kind::Send, .work = &work_, .slot = slot(member, member.step)};
      }
    }
    if (!member.has_added && member.step >= lag_) {
      if (!has_received(number, member.step - lag_)) return {.kind = Next::Kind::Await};
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
