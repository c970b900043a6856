// SPDX-License-Identifier: Apache-2.0
//
// Computing in a simulation: spans of it, the cores of servers, and which versions of shared
// variables a worker has seen.
#include <algorithm>
#include <map>

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

/// Of hosts whose lanes may compute on more cores than they have.
void Simulation::find_shared_cores() {
  const auto machine = [this](int process) {
    const int host = options_.host_of[static_cast<std::size_t>(process)];
    return cluster_.machine_cores > 0 ? host % cluster_.machine_cores : host;
  };
  std::map<int, int> wanted;  // by machine
  std::map<int, int> cores;
  std::vector<bool> is_server(static_cast<std::size_t>(program_.processes));
  for (const ProgramLane& each : program_.lanes) {
    if (each.communication) continue;
    const bool serves = each.place.role == Role::Server;
    if (serves) is_server[static_cast<std::size_t>(each.process)] = true;
    if (!serves) wanted[machine(each.process)] += cluster_.threads_per_worker;
  }
  for (int p = 0; p < program_.processes; ++p) {
    const auto host = static_cast<std::size_t>(options_.host_of[static_cast<std::size_t>(p)]);
    if (is_server[static_cast<std::size_t>(p)]) wanted[machine(p)] += cluster_.server_cores;
    cores[machine(p)] = cluster_.machine_cores > 0 ? 1 : cluster_.hosts[host].cores;
  }
  std::map<int, int> links;
  for (const auto& [number, count] : wanted) {
    if (count <= cores.at(number)) continue;
    links[number] =
        shared_cores_.add_link(static_cast<double>(cores.at(number)) / cluster_.threads_per_worker);
  }
  for (int p = 0; p < program_.processes; ++p) {
    const auto link = links.find(machine(p));
    shared_core_of_.push_back(link == links.end() ? -1 : link->second);
  }
}

void Simulation::compute(int l, double ns) {
  Lane& own = lane(l);
  own.state = State::Busy;
  own.waited += now_ - own.since;
  own.since = now_;
  own.planned = ns;
  const int core = shared_core_of_[static_cast<std::size_t>(planned(l).process)];
  if (core < 0) return events_.add({.time = now_ + ns, .kind = EventKind::LaneGoesOn, .index = l});
  Route route;
  route.add(core);
  const auto flow = static_cast<std::size_t>(shared_cores_.begin(now_, route, 1, ns));
  if (lane_of_flow_.size() <= flow) lane_of_flow_.resize(flow + 1);
  lane_of_flow_[flow] = l;
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
  const auto begin = static_cast<std::size_t>(each.first + 2 * each.waits);
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
  const double shared = own.planned > 0 ? span / own.planned : 1;  // of cores with others
  if (all[own.at].work != Work::Compute) {
    finish(l, span);
  } else {
    for (std::size_t i = own.at; i < own.until; ++i) {
      if (!is_due(l, all[i])) continue;
      if (all[i].quorum == QuorumPart::Behind && !runs_behind(l)) continue;
      const bool is_delayed = all[i].category == Category::Compute;
      const double factor = (is_delayed ? own.factor : 1) * shared;
      own.spent[static_cast<std::size_t>(all[i].category)] += all[i].ns * factor;
      if (is_delayed) own.delayed += all[i].ns * factor * (1 - 1 / own.slowdown);
      if (all[i].category == Category::Communication) own.exposed += all[i].ns * factor;
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
