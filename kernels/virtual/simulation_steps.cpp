// SPDX-License-Identifier: Apache-2.0
//
// Steps of loops in a simulation: how they are claimed, held back, begun and ended.
#include <algorithm>

#include "kernels/virtual/simulation.h"

namespace regatta::virtual_time {

/// Whether the lane's next step may begin. A leader's claim holds for all lanes of its loop. An
/// executor that follows the order has the lanes of all processes in one, where all lanes of a loop
/// end a step before any begins the next.
bool Simulation::may_begin(int l) {
  const ProgramLane& plan = planned(l);
  const ProgramLoop& loop = program_.loops[static_cast<std::size_t>(plan.loop)];
  const bool all_together = options_.order != nullptr;
  for (const int other : loop.lanes) {
    if (other == l || (planned(other).process != plan.process && !all_together)) continue;
    if (lane(other).step >= lane(l).step || lane(other).state == State::Done) continue;
    park(l, other);
    return false;
  }
  if (!quorums_.empty() && !quorum_lets_begin(l)) return false;
  if (plan.leads) {
    if (!bound_holds(l)) return false;
    if (quorums_.empty() ? claim(l) : claim_of_quorum(l)) return true;
  } else if (is_claimed(plan.loop, lane(l).step)) {
    return true;
  }
  if (plan.leads || loops_[static_cast<std::size_t>(plan.loop)].is_over) {
    end(l);
    return false;
  }
  lane(l).state = State::Parked;
  followers_.push_back(l);
  return false;
}

/// Whether the step is claimed. A loop that is alone needs no tickets between its processes.
bool Simulation::is_claimed(int loop, std::int64_t step) const {
  const std::int64_t examples = program_.loops[static_cast<std::size_t>(loop)].examples;
  if (loops_.size() == 1) return step * examples < target_;
  return step < loops_[static_cast<std::size_t>(loop)].claimed;
}

/// The examples per step of all loops of the model; -1: of all models.
std::int64_t Simulation::examples_of(int model) const {
  std::int64_t examples = 0;
  for (const ProgramLoop& loop : program_.loops) {
    if (model < 0 || loop.model == model) examples += loop.examples;
  }
  return examples;
}

bool Simulation::claim(int l) {
  const int number = planned(l).loop;
  const ProgramLoop& loop = program_.loops[static_cast<std::size_t>(number)];
  auto& claimed = claimed_[static_cast<std::size_t>(loop.model)];
  Loop& own = loops_[static_cast<std::size_t>(number)];
  if (options_.order != nullptr) {
    options_.order->add(options_.order->order_of_claims(loop.model),
                        {.loop = number, .access = AccessOrder::Access::Claim});
  }
  if (claimed >= target_ * examples_of(loop.model) / examples_of(-1)) {
    own.is_over = true;
  } else {
    histories_[static_cast<std::size_t>(number)].examples.push_back(claimed);
    claimed += loop.examples;
    examples_ += loop.examples;
    ++own.claimed;
  }
  wake(followers_);
  wake(held_back_);
  return !own.is_over;
}

/// Whether the staleness bound lets the leader's step begin (staleness_bound.h).
bool Simulation::bound_holds(int l) {
  if (!program_.staleness_bound) return true;
  std::int64_t slowest = lane(l).step;
  for (const Loop& loop : loops_) {
    if (!loop.is_over) slowest = std::min(slowest, loop.finished);
  }
  if (lane(l).step - slowest <= *program_.staleness_bound) return true;
  lane(l).state = State::Parked;
  held_back_.push_back(l);
  return false;
}

/// The end of the last step of the replica's other stages in the lane's process: the latest, and
/// not before the lane's own.
double Simulation::stages_ended(int l) const {
  const ProgramLane& plan = planned(l);
  double end = lanes_[static_cast<std::size_t>(l)].since;
  for (const int other : plan.stages) {
    end = std::max(end, lanes_[static_cast<std::size_t>(other)].began);
  }
  return end;
}

/// Counts the lane's wait for others of its loop between two steps or after the last.
void Simulation::end_wait(int l) {
  Lane& own = lane(l);
  own.bubble += stages_ended(l) - own.since;
  own.waited += now_ - own.since;
  own.since = now_;
}

void Simulation::end(int l) {
  Lane& own = lane(l);
  end_wait(l);
  own.total += now_ - own.began;
  own.state = State::Done;
  wake(own.watchers);
}

void Simulation::begin_step(int l) {
  Lane& own = lane(l);
  own.in_step = true;
  go_on_to(l, 0);
  end_wait(l);
  if (own.peer_waits.size() > 64) {
    own.peer_waits.erase(own.peer_waits.begin(), own.peer_waits.end() - 16);
  }
  if (planned(l).communication || planned(l).place.role != Role::Worker) return;
  own.factor = compute_factor(cluster_.compute_times, cluster_.seed, own.worker,
                              static_cast<std::uint32_t>(own.step));
  own.factor *= own.slowdown;
}

void Simulation::end_step(int l) {
  Lane& own = lane(l);
  const ProgramLane& plan = planned(l);
  if (plan.leads) {
    histories_[static_cast<std::size_t>(plan.loop)].step_ns.push_back(now_ - own.began);
  }
  own.total += now_ - own.began;
  own.began = own.since = now_;
  own.in_step = false;
  ++own.step;
  Loop& loop = loops_[static_cast<std::size_t>(plan.loop)];
  const auto& lanes = program_.loops[static_cast<std::size_t>(plan.loop)].lanes;
  const bool all = std::all_of(lanes.begin(), lanes.end(),
                               [&](int other) { return lane(other).step > loop.finished; });
  if (all) {
    ++loop.finished;
    wake(held_back_);
  }
  wake(own.watchers);
}

}  // namespace regatta::virtual_time
