// SPDX-License-Identifier: Apache-2.0
//
// Messages and collectives of a simulation.
#include <algorithm>
#include <set>
#include <utility>

#include "kernels/virtual/simulation.h"

namespace regatta::virtual_time {

namespace {

/// Layout of Delivery::detail for a collective: the member above the slot, and between them two
/// bits, for the first chunk of a message and for its rest.
constexpr std::int64_t kSlotBits = 32;
constexpr std::int64_t kHasFirst = std::int64_t{1} << (kSlotBits - 1);
constexpr std::int64_t kHasRest = std::int64_t{1} << (kSlotBits - 2);

/// The chunk size of a ring's messages between hosts (kernels/comm/mpi/mpi_transport.h).
constexpr std::int64_t kChunkBytes = 63 << 10;

}  // namespace

void Simulation::arrive(const Event& event) {
  if (event.index >= 0) {
    Mailbox& mailbox = mailboxes_[static_cast<std::size_t>(event.index)];
    ++mailbox.arrived;
    if (mailbox.receiver >= 0) ready(std::exchange(mailbox.receiver, -1));
    return;
  }
  const int collective = ~event.index;
  const std::int64_t member = event.detail >> kSlotBits;
  CollectiveRun& run = collectives_[static_cast<std::size_t>(collective)];
  const std::int64_t slot = event.detail & (kHasRest - 1);
  if (run.chunk_bytes() > 0 && (event.detail & kHasFirst) != 0) run.first_arrives(member, slot);
  if ((event.detail & kHasRest) != 0) run.arrive(member, slot);
  if (run.is_inside(member)) advance_member(collective, member);
}

/// Sends a message. Handing one to or from a server over takes the lane time; between workers the
/// send only begins.
bool Simulation::send(int l) {
  const LaneInstruction& each = instruction(l);
  const ProgramMessage& message = program_.messages[static_cast<std::size_t>(each.number)];
  const double rate = cluster_.transports.grpc.sending_bytes_per_ns;
  const bool hands_over = message.of_server && rate < kNoLimit;
  if (hands_over && !take_core(l)) return false;
  ++mailboxes_[static_cast<std::size_t>(each.number)].begun;
  channels_.post(now_, message.from, message.to,
                 {.carrier = message.of_server ? Carrier::Grpc : Carrier::OpenMpi,
                  .bytes = each.bytes,
                  .shares = shares_of(message.sender, message.receiver, program_.alike)},
                 {.index = each.number});
  traffic_of(l).sent += each.bytes;
  bytes_sent_ += each.bytes * program_.alike.places();
  if (hands_over) {
    spend(l, static_cast<double>(each.bytes) / rate);
    return false;
  }
  if (cluster_.devices && cluster_.devices->communication == Communication::Blocking) {
    const auto host = [&](int process) {
      return options_.host_of[static_cast<std::size_t>(process)];
    };
    const MessageCosts& costs = cluster_.transports.open_mpi;
    const bool stays = host(message.from) == host(message.to);
    spend(l, (stays ? costs.on_host : costs.between_hosts).ns_of(static_cast<double>(each.bytes)));
    return false;
  }
  finish(l, 0);
  return true;
}

bool Simulation::sent(int l) {
  const LaneInstruction& each = instruction(l);
  const auto begin = static_cast<std::size_t>(each.first + kListedOfWait * each.waits);
  for (std::size_t i = begin; i < begin + static_cast<std::size_t>(each.listed); ++i) {
    Mailbox& mailbox = mailboxes_[static_cast<std::size_t>(program_.lists[i])];
    if (mailbox.left == mailbox.begun) continue;
    mailbox.sender = l;
    lane(l).state = State::Parked;
    return false;
  }
  wait_for_peers(l);
  finish(l, 0);
  return true;
}

bool Simulation::receive(int l) {
  const LaneInstruction& each = instruction(l);
  const ProgramMessage& message = program_.messages[static_cast<std::size_t>(each.number)];
  Mailbox& mailbox = mailboxes_[static_cast<std::size_t>(each.number)];
  Lane& own = lane(l);
  if (mailbox.arrived == mailbox.taken) {
    mailbox.receiver = l;
    own.state = State::Parked;
    return false;
  }
  wait_for_peers(l);
  const MessageCosts& transport =
      message.of_server ? cluster_.transports.grpc : cluster_.transports.open_mpi;
  const double rate = each.adds ? transport.adding_bytes_per_ns : kNoLimit;
  if (rate < kNoLimit && !take_core(l)) return false;
  ++mailbox.taken;
  traffic_of(l) += {.sent = 0, .received = each.bytes, .messages = 1};
  if (rate < kNoLimit) {
    spend(l, static_cast<double>(each.bytes) / rate);
    return false;
  }
  finish(l, 0);
  return true;
}

/// Enters a collective of known duration. The last lane to arrive begins it for all.
void Simulation::join(int l) {
  const auto index = static_cast<std::size_t>(instruction(l).number);
  const ProgramCollective& collective = program_.collectives[index];
  std::vector<int>& come = joined_[index];
  lane(l).state = State::Inside;
  traffic_of(l) += collective.traffic.at(instruction(l).member);
  come.push_back(l);
  if (come.size() < static_cast<std::size_t>(collective.built)) return;
  bytes_sent_ +=
      collective.schedule.bytes() * collective.schedule.steps() * collective.alike.places();
  for (const int each : come) {
    wait_for_peers(each);
    const auto slowed = computes_at_.find(planned(each).place);
    if (slowed != computes_at_.end() && slowed->second != each) {
      lane(slowed->second).beside.emplace_back(now_, now_ + collective.ns);
    }
    lane(each).until = lane(each).at + 1;
    lane(each).state = State::Busy;
    events_.add({.time = now_ + collective.ns, .kind = EventKind::LaneGoesOn, .index = each});
  }
  come.clear();
}

void Simulation::add_collective(const ProgramCollective& collective) {
  const CollectiveSchedule& schedule = collective.schedule;
  if (collective.ns >= 0) {
    collectives_.emplace_back(schedule, 0, 1);
    return;
  }
  const bool crosses = collective.processes.front() != collective.processes.back();
  collectives_.emplace_back(schedule, schedule.is_ring() && crosses ? kChunkBytes : 0,
                            are_alike(collective) ? 1 : schedule.members());
}

/// Whether the members form a ring in which one stands for all, and whose messages are alike: all
/// within a process, all within a host, or all between hosts.
bool Simulation::are_alike(const ProgramCollective& collective) {
  const std::vector<int>& processes = collective.processes;
  const std::vector<Place>& places = collective.places;
  const std::size_t members = processes.size();
  if (places.empty() || members < 2 || collective.built > 1 || !collective.schedule.is_ring()) {
    return false;
  }
  std::set<int> hosts;
  bool in_one_process = true;
  const LinkShares first = shares_of(places[0], places[1], collective.alike);
  for (std::size_t m = 0; m < members; ++m) {
    if (shares_of(places[m], places[(m + 1) % members], collective.alike) != first) return false;
    in_one_process = in_one_process && processes[m] == processes[0];
    hosts.insert(options_.host_of[static_cast<std::size_t>(processes[m])]);
  }
  const std::set<int> different(processes.begin(), processes.end());
  return in_one_process || (hosts.size() == 1 && different.size() == members) ||
         hosts.size() == members;
}

/// The number of alike messages that a message between two places represents at each link.
LinkShares Simulation::shares_of(const Place& from, const Place& to, const Alike& of) {
  if (of.places() == 1) return {};
  const auto host_of = [&](Place place, int replica, int shard) {
    place.replica += replica;
    place.shard += shard;
    return options_.host_of[static_cast<std::size_t>(program_.process_of_place.at(place))];
  };
  const std::map<Place, int>& process_of = program_.process_of_place;
  const auto [entry, is_new] =
      shares_.try_emplace({process_of.at(from), process_of.at(to), of.replicas, of.shards});
  LinkShares& shares = entry->second;
  if (!is_new) return shares;
  shares = {.out = 0, .across = 0, .in = 0};
  for (int r = 0; r < of.replicas; ++r) {
    for (int s = 0; s < of.shards; ++s) {
      const int sender = host_of(from, r, s), receiver = host_of(to, r, s);
      if (sender == receiver) continue;
      ++shares.across;
      if (sender == host_of(from, 0, 0)) ++shares.out;
      if (receiver == host_of(to, 0, 0)) ++shares.in;
    }
  }
  return shares;
}

/// Enters the collective, together with the members for which the lane stands. The lane goes on
/// when all of them have left.
bool Simulation::enter(int l) {
  const LaneInstruction& each = instruction(l);
  const auto index = static_cast<std::size_t>(each.number);
  if (program_.collectives[index].ns >= 0) {
    join(l);
    return false;
  }
  const std::vector<std::int32_t>& stands_for = program_.collectives[index].stands_for;
  std::vector<std::int64_t> members;
  for (std::int64_t m = 0; m < collectives_[index].members(); ++m) {
    if (stands_for[static_cast<std::size_t>(m)] == each.member) members.push_back(m);
  }
  lane(l).state = State::Inside;
  lane(l).inside = static_cast<int>(members.size());
  for (const std::int64_t m : members) collectives_[index].enter(now_, m);
  for (const std::int64_t m : members) advance_member(each.number, m);
  return false;
}

void Simulation::advance_member(int collective, std::int64_t member) {
  const auto index = static_cast<std::size_t>(collective);
  const std::vector<int>& lanes = program_.collectives[index].lanes;
  const std::vector<int>& processes = program_.collectives[index].processes;
  const bool in_process = processes.front() == processes.back();
  const double rate = in_process ? cluster_.transports.in_process.adding_bytes_per_ns
                                 : cluster_.transports.open_mpi.adding_bytes_per_ns;
  for (;;) {
    const CollectiveRun::Next next = collectives_[index].next(member);
    switch (next.kind) {
      case CollectiveRun::Next::Kind::Await: return;
      case CollectiveRun::Next::Kind::Send:
        for (const MemberMessage& message : next.work->sends) {
          deliver(collective, member, message, next.slot);
        }
        break;
      case CollectiveRun::Next::Kind::Add:
        return occupy(lanes[static_cast<std::size_t>(member)],
                      static_cast<double>(next.work->adds_bytes) / rate,
                      {.kind = EventKind::MemberGoesOn, .index = collective, .detail = member});
      case CollectiveRun::Next::Kind::Leave: leave(collective, member); return;
    }
  }
}

void Simulation::deliver(int collective, std::int64_t from, const MemberMessage& message,
                         std::int64_t slot) {
  const ProgramCollective& all = program_.collectives[static_cast<std::size_t>(collective)];
  const bool for_all = collectives_[static_cast<std::size_t>(collective)].members() == 1;
  const auto sender = static_cast<std::size_t>(from);
  const auto receiver = static_cast<std::size_t>(message.to);
  const std::int64_t taker = for_all ? from : message.to;  // one for all sends to itself
  bytes_sent_ += (for_all ? all.schedule.bytes() : message.bytes) * all.alike.places();
  if (all.stands_for[sender] == from) traffic_of(all.lanes[sender]).sent += message.bytes;
  if (all.stands_for[static_cast<std::size_t>(taker)] == taker) {
    traffic_of(all.lanes[receiver]) += {.sent = 0, .received = message.bytes, .messages = 1};
  }
  const std::int64_t to = (taker << kSlotBits) | slot;
  const Delivery first{.index = ~collective, .detail = to | kHasFirst};
  const Delivery rest{.index = ~collective, .detail = to | kHasRest};
  const Delivery whole{.index = ~collective, .detail = to | kHasFirst | kHasRest};
  const std::int64_t chunk = collectives_[static_cast<std::size_t>(collective)].chunk_bytes();
  const bool is_cut = chunk > 0 && message.bytes > chunk;
  const int here = all.processes[sender];
  const int there = all.processes[receiver];
  if (here == there) {
    if (is_cut) add_arrival(now_ + time_in_process(chunk), first);
    return add_arrival(now_ + time_in_process(message.bytes), is_cut ? rest : whole);
  }
  Posted part{.carrier = all.by_library ? Carrier::OpenMpiSums : Carrier::OpenMpi,
              .bytes = message.bytes,
              .of_bytes = message.bytes,
              .handshakes = message.handshakes};
  if (all.alike.places() > 1 || for_all) {
    part.shares = shares_of(all.places[sender], all.places[receiver], all.alike);
    part.shares.into_own_host = for_all;
  }
  if (!is_cut) return channels_.post(now_, here, there, part, whole);
  part.bytes = chunk;
  channels_.post(now_, here, there, part, first);
  part.bytes = message.bytes - chunk;
  part.goes_on = true;
  channels_.post(now_, here, there, part, rest);
}

void Simulation::add_arrival(double time, const Delivery& delivery) {
  events_.add({.time = time,
               .kind = EventKind::MessageArrives,
               .index = delivery.index,
               .detail = delivery.detail});
}

void Simulation::leave(int collective, std::int64_t member) {
  const auto index = static_cast<std::size_t>(collective);
  const CollectiveRun& run = collectives_[index];
  const int l = program_.collectives[index].lanes[static_cast<std::size_t>(member)];
  Lane& own = lane(l);
  if (--own.inside > 0) return;
  // A library does not separate waiting from transfer, so all time counts as transfer, as in real
  // runs.
  const double late =
      program_.collectives[index].by_library ? 0 : run.last_came(member) - run.came(member);
  const double others = std::clamp(late, 0.0, now_ - run.came(member));
  if (others > 0) own.peer_waits.emplace_back(run.came(member), run.came(member) + others);
  own.waited += others;
  const double span = now_ - own.since - others;
  finish(l, span);
  ready(l);
}

}  // namespace regatta::virtual_time
