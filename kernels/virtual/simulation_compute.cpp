// SPDX-License-Identifier: Apache-2.0
//
// Computing in a simulation: spans of it, the cores of servers, and which versions of shared
// variables a worker has seen.
#include <algorithm>

#include "kernels/virtual/simulation.h"

namespace regatta::virtual_time {

namespace {

constexpr std::int64_t kFresh = -1;  // of a variable: its reader has not come

}  // namespace

/// The instruction and those behind it that nothing divides from it, as one span.
void Simulation::compute_run(int l) {
  Lane& own = lane(l);
  const auto& all = planned(l).instructions;
  const auto time_of = [&](const LaneInstruction& each) {
    return each.category == Category::Compute ? each.ns * own.factor : each.ns;
  };
  double ns = 0;
  own.until = own.at;
  for (;;) {
    const LaneInstruction& each = all[own.until];
    const bool rests = each.quorum == QuorumPart::Behind && !runs_behind(l);
    if (is_due(l, each) && !rests) {
      ns += time_of(each);
      if (each.is_a_read) note_versions(l, each);
    }
    ++own.until;
    if (each.awaited || each.is_an_update || own.until == all.size()) break;
    if (each.quorum != QuorumPart::None) break;
    const LaneInstruction& behind = all[own.until];
    if (behind.work != Work::Compute || behind.waits > 0 || behind.is_a_read) break;
  }
  compute(l, ns);
}

/// Of its process, if it is at a server. Returns false while others have all of them.
bool Simulation::take_core(int l) {
  Lane& own = lane(l);
  if (!is_at_server(l) || own.has_core) return true;
  Cores& cores = cores_[static_cast<std::size_t>(planned(l).process)];
  if (cores.free > 0) {
    --cores.free;
    own.has_core = true;
    return true;
  }
  cores.lanes.push_back(l);
  own.state = State::Parked;
  return false;
}

void Simulation::leave_core(int l) {
  if (!lane(l).has_core) return;
  lane(l).has_core = false;
  Cores& cores = cores_[static_cast<std::size_t>(planned(l).process)];
  if (cores.lanes.empty()) {
    ++cores.free;
    return;
  }
  const int next = cores.lanes.front();
  cores.lanes.pop_front();
  lane(next).has_core = true;
  ready(next);
}

void Simulation::compute(int l, double ns) {
  Lane& own = lane(l);
  own.state = State::Busy;
  own.waited += now_ - own.since;
  own.since = now_;
  events_.add({.time = now_ + ns, .kind = EventKind::LaneGoesOn, .index = l});
}

/// On one instruction of communication.
void Simulation::spend(int l, double ns) {
  lane(l).until = lane(l).at + 1;
  compute(l, ns);
}

double Simulation::time_in_process(std::int64_t bytes) const {
  const Way& way = cluster_.transports.in_process.on_host;
  return way.message_ns + static_cast<double>(bytes) / way.bytes_per_ns;
}

/// Of shared variables a lane reads or updates: staleness is counted as real runs do.
void Simulation::note_versions(int l, const LaneInstruction& each) {
  const auto begin = static_cast<std::size_t>(each.first + kListedOfWait * each.waits);
  for (std::size_t i = begin; i < begin + static_cast<std::size_t>(each.listed); ++i) {
    const std::int64_t variable = program_.lists[i];
    auto& version = versions_[static_cast<std::size_t>(variable)];
    const std::int64_t key = planned(l).loop * std::int64_t{program_.shared_variables} + variable;
    if (each.is_a_read) {
      note_access(l, static_cast<std::size_t>(variable), AccessOrder::Access::Read);
      seen_[key] = version;
      continue;
    }
    note_access(l, static_cast<std::size_t>(variable), AccessOrder::Access::Update);
    const auto seen = seen_.try_emplace(key, kFresh).first->second;
    if (seen != kFresh) {
      const auto missed = static_cast<std::size_t>(version - seen);
      ++lane(l).staleness[std::min(missed, kStalenessCounts - 1)];
    }
    ++version;
  }
}

void Simulation::note_access(int l, std::size_t variable, AccessOrder::Access access) {
  if (options_.order == nullptr) return;
  options_.order->add(orders_[variable], {.loop = planned(l).loop, .access = access});
}

/// A span of computing or copying is over.
void Simulation::finish_run(int l) {
  Lane& own = lane(l);
  const auto& all = planned(l).instructions;
  const double span = now_ - own.since;
  if (all[own.at].work != Work::Compute) {
    finish(l, span);
  } else {
    for (std::size_t i = own.at; i < own.until; ++i) {
      if (!is_due(l, all[i])) continue;
      if (all[i].quorum == QuorumPart::Behind && !runs_behind(l)) continue;
      const bool is_delayed = all[i].category == Category::Compute;
      const double factor = is_delayed ? own.factor : 1;
      own.spent[static_cast<std::size_t>(all[i].category)] += all[i].ns * factor;
      if (is_delayed) own.delayed += all[i].ns * factor * (1 - 1 / own.slowdown);
      if (all[i].category == Category::Communication) own.exposed += all[i].ns;
      if (all[i].quorum == QuorumPart::Behind) {
        note_versions(l, all[i]);
        has_updated(l);
      } else if (all[i].quorum != QuorumPart::None) {
        push(l, all[i].quorum);
      } else if (all[i].is_an_update) {
        note_versions(l, all[i]);
      }
    }
    own.since = now_;
    go_on_to(l, own.until);
  }
  leave_core(l);
  ready(l);
}

}  // namespace regatta::virtual_time
