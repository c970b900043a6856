// SPDX-License-Identifier: Apache-2.0
//
// Computing in a simulation: spans of instructions, the cores of servers, and the versions of
// shared variables that a worker has seen.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "kernels/base/random.h"
#include "kernels/virtual/simulation.h"

namespace regatta::virtual_time {

namespace {

constexpr std::int64_t kFresh = -1;  // in place of a version: the loop has not read the variable

}  // namespace

/// Computes the instruction and those after it as one span, up to the next wait, message, read,
/// update or average.
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
    if (each.awaited || each.is_an_update || each.averages || own.until == all.size()) break;
    if (each.quorum != QuorumPart::None) break;
    const LaneInstruction& behind = all[own.until];
    if (behind.work != Work::Compute || behind.waits > 0 || behind.is_a_read) break;
  }
  compute(l, ns);
}

/// Takes a core for a lane at a server; returns false while other lanes have all of them.
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

/// Adds links for cores that are shared: those of hosts whose workers and servers may need more
/// than there are, and those of all hosts that share a machine's cores, where messages need cores,
/// too. In the latter case the capacity of a core is the rate at which it sends long messages.
void Simulation::find_shared_cores() {
  const auto cores_of = [this](int process) {  // numbers the sets of cores
    const int host = options_.host_of[static_cast<std::size_t>(process)];
    return cluster_.machine_cores > 0 ? host % cluster_.machine_cores : host;
  };
  std::map<int, int> wanted;
  std::set<std::pair<int, Place>> seen;
  for (const ProgramLane& each : program_.lanes) {
    const bool serves = each.place.role == Role::Server;
    if (!serves && each.place.role != Role::Worker) continue;
    const Place place = serves ? Place{.role = Role::Server} : each.place;
    if (!seen.insert({each.process, place}).second) continue;
    wanted[cores_of(each.process)] += serves ? cluster_.server_cores : cluster_.threads_per_worker;
  }
  const bool with_messages = cluster_.machine_cores > 0;
  const double sends = cluster_.transports.open_mpi.between_hosts.bytes_per_ns;
  if (with_messages && sends < kNoLimit) core_capacity_ = sends;
  std::map<int, int> links;
  for (int p = 0; p < program_.processes; ++p) {
    const auto host = static_cast<std::size_t>(options_.host_of[static_cast<std::size_t>(p)]);
    const int cores = cluster_.machine_cores > 0 ? 1 : cluster_.hosts[host].cores;
    int link = -1;
    if (wanted[cores_of(p)] > cores || with_messages) {
      const auto [entry, is_new] = links.try_emplace(cores_of(p), -1);
      if (is_new) entry->second = network_.add_link(cores * core_capacity_);
      link = entry->second;
    }
    shared_cores_of_.push_back(link);
  }
  if (with_messages) channels_.take_cores(shared_cores_of_, core_capacity_);
}

bool Simulation::shares_cores(int l) const {
  return shared_cores_of_[static_cast<std::size_t>(planned(l).process)] >= 0;
}

/// Schedules `then` for the end of a computation that takes `ns` on cores of its own.
void Simulation::occupy(int l, double ns, Event then) {
  if (!shares_cores(l)) {
    then.time = now_ + ns;
    return events_.add(then);
  }
  const ProgramLane& plan = planned(l);
  const bool is_wide = !plan.communication && plan.place.role == Role::Worker;
  const double most = core_capacity_ * (is_wide ? cluster_.threads_per_worker : 1);
  Route route;
  route.add(shared_cores_of_[static_cast<std::size_t>(plan.process)]);
  const auto flow = static_cast<std::size_t>(
      network_.begin(now_, route, most, ns * most, EventKind::ComputeEnds));
  if (behind_flows_.size() <= flow) behind_flows_.resize(flow + 1);
  behind_flows_[flow] = then;
}

void Simulation::compute(int l, double ns) {
  Lane& own = lane(l);
  own.state = State::Busy;
  own.waited += now_ - own.since;
  own.since = now_;
  own.alone_ns = ns;
  own.looked = now_;
  occupy(l, ns, {.kind = EventKind::LaneGoesOn, .index = l});
}

/// Computes on, and returns true, if collectives beside the lane took a share of its device.
bool Simulation::computes_on(int l) {
  Lane& own = lane(l);
  if (own.beside.empty()) return false;
  double taken = 0;
  for (const auto& [begin, end] : own.beside) {
    taken += std::max(0.0, std::min(end, now_) - std::max(begin, own.looked));
  }
  std::erase_if(own.beside, [this](const auto& each) { return each.second <= now_; });
  own.looked = now_;
  taken *= cluster_.devices->profile.collective_share;
  if (taken < 1) return false;
  occupy(l, taken, {.kind = EventKind::LaneGoesOn, .index = l});
  return true;
}

/// Occupies the lane for `ns`, which counts as communication.
void Simulation::spend(int l, double ns) {
  lane(l).until = lane(l).at + 1;
  compute(l, ns);
}

double Simulation::time_in_process(std::int64_t bytes) const {
  return cluster_.transports.in_process.on_host.ns_of(static_cast<double>(bytes));
}

/// Notes the versions of the shared variables that are read or updated, and counts staleness as
/// real runs do.
void Simulation::note_versions(int l, const LaneInstruction& each) {
  const auto begin = static_cast<std::size_t>(each.first + kListedOfWait * each.waits);
  for (std::size_t i = begin; i < begin + static_cast<std::size_t>(each.listed); ++i) {
    const std::int64_t variable = program_.lists[i];
    auto& version = versions_[static_cast<std::size_t>(variable)];
    const std::int64_t key = key_of(l, variable);
    if (each.is_a_read) {
      note_access(l, static_cast<std::size_t>(variable), AccessOrder::Access::Read);
      seen_[key] = version;
      continue;
    }
    note_access(l, static_cast<std::size_t>(variable),
                each.looks_ahead ? AccessOrder::Access::LookAhead : AccessOrder::Access::Update);
    const auto seen = seen_.try_emplace(key, kFresh).first->second;
    if (seen != kFresh && !each.looks_ahead) {
      const auto missed = static_cast<std::size_t>(version - seen);
      ++lane(l).staleness[std::min(missed, kStalenessCounts - 1)];
    }
    ++version;
  }
}

/// Advances the version of each averaged variable; the loop's own next update does not miss this
/// average. In one process, the variables are the replica's own and that of the peer drawn.
void Simulation::note_average(int l, const LaneInstruction& each) {
  const auto first = static_cast<std::size_t>(each.first + kListedOfWait * each.waits);
  const auto note = [&](std::size_t listed) {
    const auto variable = static_cast<std::size_t>(program_.lists[listed]);
    note_access(l, variable, AccessOrder::Access::Average);
    ++versions_[variable];
  };
  note(first);
  if (each.listed > 1) {
    note(first + 1 +
         draw_peer(static_cast<std::uint32_t>(each.member), lane(l).step,
                   static_cast<std::uint32_t>(each.listed - 1)));
  }
  const auto seen = seen_.find(key_of(l, program_.lists[first]));
  if (seen != seen_.end()) ++seen->second;
}

void Simulation::note_access(int l, std::size_t variable, AccessOrder::Access access) {
  if (options_.order == nullptr) return;
  options_.order->add(orders_[variable], {.loop = planned(l).loop, .access = access});
}

/// Accounts for an instruction that took `longer` times its time on cores of its own.
void Simulation::account(int l, const LaneInstruction& each, double longer) {
  Lane& own = lane(l);
  const bool is_delayed = each.category == Category::Compute;
  const double factor = (is_delayed ? own.factor : 1) * longer;
  own.spent[static_cast<std::size_t>(each.category)] += each.ns * factor;
  if (is_delayed) own.delayed += each.ns * factor * (1 - 1 / own.slowdown);
  if (each.category == Category::Communication) own.exposed += each.ns * factor;
  if (each.quorum == QuorumPart::Behind) {
    note_versions(l, each);
  } else if (each.quorum != QuorumPart::None) {
    push(l, each.quorum);
  } else if (each.averages) {
    note_average(l, each);
  } else if (each.is_an_update) {
    note_versions(l, each);
  }
}

/// Ends a span of computing or copying.
void Simulation::finish_run(int l) {
  if (computes_on(l)) return;
  Lane& own = lane(l);
  const auto& all = planned(l).instructions;
  const double span = now_ - own.since;
  const bool may_differ = shares_cores(l) || !computes_at_.empty();
  const double longer = may_differ && own.alone_ns > 0 ? span / own.alone_ns : 1;
  if (all[own.at].work != Work::Compute) {
    finish(l, span);
  } else {
    for (std::size_t i = own.at; i < own.until; ++i) {
      const bool is_behind = all[i].quorum == QuorumPart::Behind;
      if (is_behind && !runs_behind(l)) continue;
      if (is_due(l, all[i])) account(l, all[i], longer);
      // due or not: the step ends after all of them
      if (is_behind && server_of(l).quorum.updated()) wake(server_of(l).waiting);
    }
    own.since = now_;
    go_on_to(l, own.until);
  }
  leave_core(l);
  ready(l);
}

}  // namespace regatta::virtual_time
