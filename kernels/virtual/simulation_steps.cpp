// SPDX-License-Identifier: Apache-2.0
//
// Steps of loops in a simulation: how they are claimed, held back, begun and ended, and which
// pushes count under a quorum.
#include <algorithm>

#include "kernels/virtual/simulation.h"

namespace regatta::virtual_time {

void Simulation::make_rules() {
  std::int64_t all = 0;
  for (const ProgramLoop& loop : program_.loops) {
    const auto model = static_cast<std::size_t>(loop.model);
    while (counts_.size() <= model) counts_.emplace_back().led = 0;
    counts_[model].led += loop.examples;
    all += loop.examples;
  }
  for (ExampleCount& count : counts_) count.all = all;
  if (program_.staleness_bound) bound_.emplace(loops_.size(), *program_.staleness_bound);
  for (auto [server, options] : program_.quorums) {
    if (server == 0) options.applied_examples = &counts_.front().claimed;
    servers_.try_emplace(server, options);
  }
  for (const ProgramLane& each : program_.lanes) {
    if (servers_.empty() || each.place.role != Role::Server) continue;
    const std::int64_t examples = program_.loops[static_cast<std::size_t>(each.loop)].examples;
    servers_.at(each.place.stage).quorum.join(each.place.replica, {.examples = examples});
  }
}

/// Lets the loops run until all together have seen `target` examples.
void Simulation::begin_loops(std::int64_t target) {
  for (ExampleCount& count : counts_) count.target = count.of_led(target);
  for (std::size_t loop = 0; loop < loops_.size(); ++loop) {
    loops_[loop].is_over = false;
    if (bound_) bound_->rejoin(loop);
  }
}

std::int64_t Simulation::examples_seen() const {
  std::int64_t examples = 0;
  for (const ExampleCount& count : counts_) examples += count.claimed;
  return examples;
}

/// Whether the lane's next step may begin. A leader claims steps for all lanes of its loop. If an
/// executor follows the order, all lanes of a loop end a step before any begins the next, because
/// it runs the lanes of all processes.
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
  if (!servers_.empty() && !quorum_lets_begin(l)) return false;
  if (plan.leads) {
    if (!bound_holds(l)) return false;
    if (claim(l)) return true;
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

/// Whether the step is claimed. A single loop needs no tickets between its processes.
bool Simulation::is_claimed(int loop, std::int64_t step) const {
  const std::int64_t examples = program_.loops[static_cast<std::size_t>(loop)].examples;
  if (loops_.size() == 1) return step * examples < counts_.front().target;
  return step < loops_[static_cast<std::size_t>(loop)].claimed;
}

/// Claims the leader's next step; returns false once the run's examples are claimed. With a quorum,
/// the count increases when pushes are applied, not here.
bool Simulation::claim(int l) {
  const int number = planned(l).loop;
  const ProgramLoop& loop = program_.loops[static_cast<std::size_t>(number)];
  ExampleCount& count = count_of(number);
  Loop& own = loop_of(l);
  if (options_.order != nullptr) {
    options_.order->add(options_.order->order_of_claims(loop.model),
                        {.loop = number, .access = AccessOrder::Access::Claim});
  }
  const std::int64_t seen = count.claimed;
  if (count.claim(servers_.empty() ? loop.examples : 0).runs) {
    histories_[static_cast<std::size_t>(number)].examples.push_back(seen);
    ++own.claimed;
  } else {
    own.is_over = true;
    if (bound_) bound_->retire(static_cast<std::size_t>(number));
  }
  wake(followers_);
  wake(held_back_);
  return !own.is_over;
}

/// Whether the staleness bound lets the leader's step begin.
bool Simulation::bound_holds(int l) {
  if (!bound_ || bound_->lets_begin(lane(l).step)) return true;
  lane(l).state = State::Parked;
  held_back_.push_back(l);
  return false;
}

/// Whether the lane's step may begin under a quorum. The first server decides, and its lanes lead
/// the loops. A leader waits while its last push is pending. A lane of another server waits for the
/// version that the step reads.
bool Simulation::quorum_lets_begin(int l) {
  if (!is_at_server(l)) return true;
  Server& server = server_of(l);
  if (planned(l).leads) {
    if (server.quorum.try_begin(planned(l).place.replica)) return true;
  } else {
    const auto& begun = histories_[static_cast<std::size_t>(planned(l).loop)].examples;
    const auto step = static_cast<std::size_t>(lane(l).step);
    if (step >= begun.size() || server.quorum.version() >= begun[step]) return true;
  }
  lane(l).state = State::Parked;
  server.waiting.push_back(l);
  return false;
}

/// Counts or drops the push of the lane's step, which has arrived at the server.
void Simulation::push(int l, QuorumPart part) {
  Quorum& quorum = server_of(l).quorum;
  const std::int64_t member = planned(l).place.replica;
  if (part == QuorumPart::Decides) {
    loop_of(l).push_counts = quorum.decide(member) != PushVerdict::Dropped;
  } else {
    quorum.follow(member, loop_of(l).push_counts);
  }
}

/// The latest end of a step among the stages of the replica in the lane's process, including the
/// lane's own.
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
  Loop& loop = loop_of(l);
  const auto& lanes = program_.loops[static_cast<std::size_t>(plan.loop)].lanes;
  const bool all = std::all_of(lanes.begin(), lanes.end(),
                               [&](int other) { return lane(other).step > loop.finished; });
  if (all) {
    ++loop.finished;
    if (bound_) bound_->finish(static_cast<std::size_t>(plan.loop), loop.finished);
    wake(held_back_);
  }
  wake(own.watchers);
}

}  // namespace regatta::virtual_time
