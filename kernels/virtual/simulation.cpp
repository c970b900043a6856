// SPDX-License-Identifier: Apache-2.0
#include "kernels/virtual/simulation.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/error.h"

namespace regatta::virtual_time {
namespace {

std::int64_t rounded(double ns) { return std::llround(ns); }

}  // namespace

Simulation::Simulation(const Program& program, const Cluster& cluster,
                       const SimulationOptions& options)
    : program_(program),
      cluster_(cluster),
      options_(options),
      channels_(cluster, options_.host_of, events_, network_),
      lanes_(program.lanes.size()),
      loops_(program.loops.size()),
      mailboxes_(program.messages.size()),
      cores_(static_cast<std::size_t>(program.processes), {.free = cluster.server_cores}),
      versions_(static_cast<std::size_t>(program.shared_variables)),
      histories_(program.loops.size()) {
  find_shared_cores();
  for (const ProgramCollective& each : program.collectives) add_collective(each);
  joined_.resize(collectives_.size());
  make_rules();
  std::map<Place, std::uint32_t> workers;
  for (const ProgramLane& each : program.lanes) {
    if (each.place.role == Role::Worker) workers[each.place] = 0;
  }
  std::uint32_t number = 0;
  for (auto& [place, worker] : workers) worker = number++;
  for (int l = 0; l < static_cast<int>(lanes_.size()); ++l) {
    lane(l).staleness.resize(kStalenessCounts);
    const bool slows = cluster_.devices && cluster_.devices->profile.collective_share > 0;
    if (slows && !planned(l).communication) computes_at_[planned(l).place] = l;
    if (planned(l).place.role != Role::Worker) continue;
    lane(l).worker = workers.at(planned(l).place);
    const auto straggler = options_.stragglers.find(static_cast<int>(lane(l).worker));
    if (straggler != options_.stragglers.end()) lane(l).slowdown = straggler->second;
  }
  if (options_.order == nullptr) return;
  orders_.resize(versions_.size());
  for (const auto& [index, variable] : program.shared) {
    orders_[static_cast<std::size_t>(index)] = options_.order->order_of(variable);
  }
}

void Simulation::advance_to(std::int64_t examples) {
  begin_loops(examples);
  for (int l = 0; l < static_cast<int>(lanes_.size()); ++l) {
    lane(l).began = lane(l).since = now_;
    ready(l);
  }
  for (;;) {
    while (!ready_.empty()) {
      const int l = ready_.front();
      ready_.pop_front();
      go(l);
    }
    if (events_.empty() || events_.next().time > now_) network_.settle(now_);
    if (events_.empty()) break;
    const Event event = events_.take();
    if (network_.is_outdated(event)) continue;
    now_ = event.time;
    happen(event);
  }
  const bool is_done = std::all_of(lanes_.begin(), lanes_.end(),
                                   [](const Lane& each) { return each.state == State::Done; });
  if (!is_done) stand_still();
}

void Simulation::happen(const Event& event) {
  switch (event.kind) {
    case EventKind::LaneGoesOn: finish_run(event.index); break;
    case EventKind::ComputeEnds:
      network_.end(event.index);
      happen(behind_flows_[static_cast<std::size_t>(event.index)]);
      break;
    case EventKind::MessageBegins: channels_.begin_flow(event); break;
    case EventKind::FlowEnds:
      if (const Delivery left = channels_.end_flow(event); left.index >= 0) {
        Mailbox& mailbox = mailboxes_[static_cast<std::size_t>(left.index)];
        ++mailbox.left;
        if (mailbox.sender >= 0) ready(std::exchange(mailbox.sender, -1));
      }
      break;
    case EventKind::MessageArrives: arrive(event); break;
    case EventKind::MemberGoesOn:
      collectives_[static_cast<std::size_t>(event.index)].has_added_up(event.detail);
      advance_member(event.index, event.detail);
      break;
  }
}

void Simulation::ready(int l) {
  lane(l).state = State::Ready;
  ready_.push_back(l);
}

void Simulation::wake(std::vector<int>& lanes) {
  for (const int l : lanes) ready(l);
  lanes.clear();
}

void Simulation::park(int l, int behind) {
  lane(l).state = State::Parked;
  lane(behind).watchers.push_back(l);
}

/// Runs the lane until it waits or time has to pass.
void Simulation::go(int l) {
  if (lane(l).state != State::Ready) return;
  for (;;) {
    if (!lane(l).in_step) {
      if (!may_begin(l)) return;
      begin_step(l);
    }
    if (lane(l).at == planned(l).instructions.size()) {
      end_step(l);
      continue;
    }
    const LaneInstruction& next = instruction(l);
    if (next.quorum != QuorumPart::Behind && !is_due(l, next)) {
      go_on_to(l, lane(l).at + 1);
      continue;
    }
    if (!await_dependencies(l) || !start(l)) return;
  }
}

bool Simulation::is_due(int l, const LaneInstruction& each) {
  if (each.steps < 0) return true;
  return program_.node_steps[static_cast<std::size_t>(each.steps)].is_due(moment_of(l, each));
}

/// The moment of the lane's step; behind a quorum, that of the step which the pushes complete.
StepMoment Simulation::moment_of(int l, const LaneInstruction& each) {
  if (each.quorum == QuorumPart::Behind) return server_of(l).quorum.moment();
  const std::int64_t step = lane(l).step;
  return {.step = step,
          .examples = seen_at(planned(l).loop, step),
          .before = step == 0 ? 0 : seen_at(planned(l).loop, step - 1)};
}

/// The examples that all loops together have seen when this loop's step begins.
std::int64_t Simulation::seen_at(int loop, std::int64_t step) {
  const ExampleCount& count = count_of(loop);
  const auto& claimed = histories_[static_cast<std::size_t>(loop)].examples;
  const auto index = static_cast<std::size_t>(step);
  const std::int64_t of_model =
      loops_.size() > 1 && index < claimed.size() ? claimed[index] : step * count.led;
  return count.of_all(of_model);
}

/// Moves the lane to an instruction and wakes the lanes that wait for its progress.
void Simulation::go_on_to(int l, std::size_t at) {
  lane(l).at = at;
  lane(l).met = 0;
  wake(lane(l).watchers);
}

/// Counts the time until now as waiting for another lane to send or receive.
void Simulation::wait_for_peers(int l) {
  Lane& own = lane(l);
  if (now_ == own.since) return;
  own.waited += now_ - own.since;
  if (instruction(l).of_stage) own.bubble += now_ - own.since;
  own.peer_waits.emplace_back(own.since, now_);
  own.since = now_;
}

/// Parks the lane and returns false while a dependency is not met. The time counts as waiting,
/// except while the place's own messages move (lane.cpp).
bool Simulation::await_dependencies(int l) {
  Lane& own = lane(l);
  const LaneInstruction& each = instruction(l);
  for (; own.met < each.waits; ++own.met) {
    const auto list = static_cast<std::size_t>(each.first + kListedOfWait * own.met);
    const int behind = program_.lists[list];
    const auto index = static_cast<std::size_t>(program_.lists[list + 1]);
    const Lane& other = lane(behind);
    if (other.step > own.step || (other.step == own.step && other.in_step && other.at > index)) {
      if (own.since == now_) continue;
      const bool own_messages =
          planned(behind).communication && planned(behind).place == planned(l).place;
      const double span = now_ - own.since;
      const double others = own_messages ? overlap(other, own.since, now_) : span;
      own.waited += others;
      if (program_.lists[list + 2] != 0) own.bubble += others;
      own.exposed += span - others;
      if (planned(l).communication && planned(behind).place != planned(l).place) {
        own.peer_waits.emplace_back(own.since, now_);
      }
      own.since = now_;
      continue;
    }
    park(l, behind);
    return false;
  }
  return true;
}

/// The time between `begin` and `end` in which the lane waited for peers.
double Simulation::overlap(const Lane& other, double begin, double end) const {
  double sum = 0;
  for (auto each = other.peer_waits.rbegin(); each != other.peer_waits.rend(); ++each) {
    if (each->second <= begin) break;
    sum += std::max(0.0, std::min(end, each->second) - std::max(begin, each->first));
  }
  return sum;
}

/// Returns true if the instruction is done at once.
bool Simulation::start(int l) {
  const LaneInstruction& each = instruction(l);
  switch (each.work) {
    case Work::Compute:
      if (take_core(l)) compute_run(l);
      return false;
    case Work::Copy:
      if (!take_core(l)) return false;
      traffic_[program_.senders[static_cast<std::size_t>(each.number)]].sent += each.bytes;
      traffic_of(l) += {.sent = 0, .received = each.bytes, .messages = 1};
      bytes_sent_ += each.bytes * program_.alike.places();
      spend(l, time_in_process(each.bytes));
      return false;
    case Work::Send: return send(l);
    case Work::Sent: return sent(l);
    case Work::Receive: return receive(l);
    case Work::Collective: return enter(l);
  }
  return false;
}

/// Ends an instruction of communication that took `span`.
void Simulation::finish(int l, double span) {
  Lane& own = lane(l);
  own.spent[static_cast<std::size_t>(Category::Communication)] += span;
  own.exposed += span;
  own.since = now_;
  go_on_to(l, own.at + 1);
}

void Simulation::stand_still() const {
  const auto stuck = std::find_if(lanes_.begin(), lanes_.end(),
                                  [](const Lane& each) { return each.state != State::Done; });
  const ProgramLane& plan = program_.lanes[static_cast<std::size_t>(stuck - lanes_.begin())];
  throw RunError(ErrorKind::Timeout, "virtual time stands still: " + to_string(plan.place) +
                                         " of process " + std::to_string(plan.process) +
                                         " waits for ever in step " + std::to_string(stuck->step) +
                                         ", at instruction " + std::to_string(stuck->at) + " of " +
                                         std::to_string(plan.instructions.size()));
}

std::vector<std::pair<int, WorkerReport>> Simulation::workers() const {
  std::vector<std::pair<int, WorkerReport>> all;
  for (std::size_t l = 0; l < lanes_.size(); ++l) {
    const ProgramLane& plan = program_.lanes[l];
    if (plan.communication) continue;
    const Lane& own = lanes_[l];
    const auto spent = [&](Category category) {
      return rounded(own.spent[static_cast<std::size_t>(category)]);
    };
    WorkerReport report;
    report.place = plan.place;
    report.steps = own.step;
    report.compute_ns = spent(Category::Compute);
    report.delay_ns = rounded(own.delayed);
    report.exposed_communication_ns = rounded(own.exposed);
    report.wait_ns = rounded(own.waited);
    report.bubble_ns = rounded(own.bubble);
    report.input_ns = spent(Category::Input);
    report.update_ns = spent(Category::Update);
    report.total_ns = rounded(own.total);
    report.staleness = own.staleness;
    if (!servers_.empty() && plan.place.role == Role::Server) {
      const Quorum& quorum = servers_.at(plan.place.stage).quorum;
      report.updates_applied = quorum.applied(plan.place.replica);
      report.updates_dropped = quorum.dropped(plan.place.replica);
    }
    all.emplace_back(plan.process, std::move(report));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second.place < b.second.place; });
  return all;
}

}  // namespace regatta::virtual_time
