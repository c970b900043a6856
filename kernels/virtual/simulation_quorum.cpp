// SPDX-License-Identifier: Apache-2.0
//
// Backup workers in a simulation: which pushes a server takes, by the rules of
// kernels/runtime/loops/quorum.h. The first server decides; its lanes lead the loops.
#include <algorithm>
#include <utility>

#include "kernels/virtual/simulation.h"

namespace regatta::virtual_time {

/// Whether the lane's step may begin. A leader waits until its last push is no longer pending, a
/// lane of another server until the version that the step reads is there.
bool Simulation::quorum_lets_begin(int l) {
  if (!is_at_server(l)) return true;
  Quorum& quorum = quorum_at(l);
  if (planned(l).leads) {
    QuorumSeat& seat = seat_of(quorum, l);
    if (!seat.counts && quorum.gathered < program_.quorum->needed) {
      seat.began = quorum.applied;
      return true;
    }
  } else {
    const auto& begun = histories_[static_cast<std::size_t>(planned(l).loop)].examples;
    const auto step = static_cast<std::size_t>(lane(l).step);
    if (step >= begun.size() || quorum.applied >= begun[step]) return true;
  }
  lane(l).state = State::Parked;
  quorum.waiting.push_back(l);
  return false;
}

/// Claims the leader's next step; returns false once the run's examples are applied.
bool Simulation::claim_of_quorum(int l) {
  const auto number = static_cast<std::size_t>(planned(l).loop);
  Loop& own = loops_[number];
  if (quorums_.front().applied >= target_) {
    own.is_over = true;
  } else {
    histories_[number].examples.push_back(quorums_.front().applied);
    ++own.claimed;
  }
  wake(followers_);
  return !own.is_over;
}

/// Counts or drops the push of the lane's step, which has arrived at the server.
void Simulation::push(int l, QuorumPart part) {
  Quorum& quorum = quorum_at(l);
  QuorumSeat& seat = seat_of(quorum, l);
  if (part == QuorumPart::Decides) {
    seat.verdict = seat.began == quorum.applied && quorum.gathered < program_.quorum->needed;
  } else {
    seat.verdict = seat_of(quorums_.front(), l).verdict;
  }
  if (!seat.verdict) {
    if (part == QuorumPart::Decides) ++seat.dropped;
    return;
  }
  seat.counts = true;
  ++seat.applied;
  quorum.gathered_examples += program_.loops[static_cast<std::size_t>(planned(l).loop)].examples;
  if (++quorum.gathered == program_.quorum->needed) quorum.completing = planned(l).place.replica;
}

/// Whether the lane's push completes the step.
bool Simulation::runs_behind(int l) const {
  const Place& place = planned(l).place;
  return quorums_[static_cast<std::size_t>(place.stage)].completing == place.replica;
}

/// Counts one update behind a quorum; the last one of a step advances the version.
void Simulation::has_updated(int l) {
  Quorum& quorum = quorum_at(l);
  const auto server = static_cast<std::size_t>(planned(l).place.stage);
  if (++quorum.updates_run < program_.quorum->updates[server]) return;
  ++quorum.steps;
  quorum.updates_run = quorum.gathered = 0;
  quorum.completing = -1;
  quorum.applied += std::exchange(quorum.gathered_examples, 0);
  for (QuorumSeat& each : quorum.seats) each.counts = false;
  if (server == 0) examples_ = quorum.applied;
  wake(quorum.waiting);
}

}  // namespace regatta::virtual_time
