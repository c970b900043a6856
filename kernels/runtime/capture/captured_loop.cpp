// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/capture/captured_loop.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "kernels/base/error.h"
#include "kernels/graph/node_steps.h"
#include "kernels/graph/period.h"
#include "kernels/runtime/capture/queued_exchange.h"
#include "kernels/runtime/lane.h"
#include "kernels/runtime/measure/clock.h"
#include "kernels/runtime/occasional.h"

namespace regatta {
namespace {

bool needs_an_exchange(const Node& node) {
  return op_info(node.op).crosses || node.op == Op::Quorum;
}

std::string text_of(const Node& node) {
  return std::string(to_string(node.op)) + " of " + node.layer + " on " + to_string(node.place);
}

/// The kernel as one that may rest within a phase; null if it runs in every step.
Occasional* resting_at(Kernel& kernel) {
  Occasional* const occasional = kernel.occasional();
  const bool rests = occasional != nullptr && occasional->steps().may_rest();
  return rests ? occasional : nullptr;
}

}  // namespace

CapturedLoop::CapturedLoop(const Request& request) : request_(request) {
  add_nodes(request.all_lanes);
  request_.all_lanes = {};
  turns_ = order_turns(nodes_);
}

void CapturedLoop::add_nodes(std::span<Lane* const> all_lanes) {
  std::map<const Lane*, std::size_t> numbers;
  for (const Lane* lane : request_.lanes) numbers.emplace(lane, numbers.size());
  for (const Lane* lane : request_.lanes) {
    std::vector<QueuedNode>& nodes = nodes_.emplace_back();
    for (const Instruction& instruction : lane->plan().instructions) {
      Kernel& kernel = lane->kernel(nodes.size());
      const QueuedExchange* const exchange = kernel.queued_exchange();
      if (Occasional* const occasional = resting_at(kernel)) resting_.push_back(occasional);
      QueuedNode node{.node = instruction.node,
                      .waits = {},
                      .shared_launch = exchange == nullptr ? nullptr : exchange->shared_launch()};
      for (const Dependency& wait : instruction.waits) {
        const Lane* const other = all_lanes[static_cast<std::size_t>(wait.lane)];
        node.waits.push_back(
            {.lane = numbers.at(other), .index = static_cast<std::size_t>(wait.index)});
      }
      nodes.push_back(std::move(node));
    }
  }
}

CapturedLoop::~CapturedLoop() = default;

void CapturedLoop::record() {
  std::set<std::int64_t> ends{kNeverExpires};
  for (const std::vector<QueuedNode>& nodes : nodes_) {
    for (const QueuedNode& node : nodes) {
      ends.insert(until_of(node.node));
    }
  }
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    if (end <= begin) continue;
    phases_.push_back(record_phase(begin));
    phases_.back().end = end;
    begin = end;
  }
}

CapturedLoop::Phase CapturedLoop::record_phase(std::int64_t begin) const {
  Phase phase;
  phase.step = record_step(begin, Rest::None, phase);
  if (resting_.empty()) return phase;
  const auto rests_alike = [&](const Occasional* each) {
    return each->steps() == resting_.front()->steps();
  };
  check(std::all_of(resting_.begin(), resting_.end(), rests_alike), "all that rest do so at once");
  Phase same;  // discarded: both recordings have the same exchanges
  phase.resting_step = record_step(begin, Rest::All, same);
  return phase;
}

std::unique_ptr<RecordedStep> CapturedLoop::record_step(std::int64_t begin, Rest rest,
                                                        Phase& phase) const {
  const std::unique_ptr<StepRecorder> recorder = request_.device.make_recorder();
  if (recorder == nullptr) {
    throw RunError(ErrorKind::Unsupported, "steps are captured on a GPU only");
  }
  std::vector<LaneQueue*> queues;
  for (const Lane* lane : request_.lanes) queues.push_back(lane->queue());
  recorder->begin(queues);
  for (LaneQueue* queue : queues) queue->load_step();
  LaneCounters counters;
  const StepContext context{.step = 0, .examples = begin, .counters = &counters};
  std::map<Stand, StepRecorder::Mark> marks;
  for (const Turn& turn : turns_) {
    try {
      for (const Stand& stand : turn) {
        for (const Stand& wait : node_at(stand).waits) recorder->wait(stand.lane, marks.at(wait));
      }
      const bool is_left_out = rest == Rest::All && resting_at(kernel(turn.front())) != nullptr;
      if (!is_left_out) put(turn, context, *recorder, phase);
      recorder->look();
      for (const Stand& stand : turn) {
        if (is_awaited(stand)) marks[stand] = recorder->mark(stand.lane);
      }
    } catch (const RunError& error) {
      const Node& node = request_.graph.node(node_at(turn.front()).node);
      throw RunError(error.kind(),
                     "a step cannot be captured because of " + text_of(node) + ": " + error.what());
    }
  }
  return recorder->end();
}

std::int64_t CapturedLoop::until_of(NodeId id) const {
  return node_steps(request_.graph.node(id)).until;
}

Kernel& CapturedLoop::kernel(const Stand& stand) const {
  return request_.lanes[stand.lane]->kernel(stand.index);
}

bool CapturedLoop::is_awaited(const Stand& stand) const {
  return request_.lanes[stand.lane]->plan().instructions[stand.index].awaited;
}

/// Enqueues the turn's work, if its node has not expired; members of a shared launch expire
/// together.
void CapturedLoop::put(const Turn& turn, const StepContext& context, StepRecorder& recorder,
                       Phase& phase) const {
  const NodeId id = node_at(turn.front()).node;
  if (context.examples >= until_of(id)) return;
  if (!needs_an_exchange(request_.graph.node(id))) {
    Kernel& computes = kernel(turn.front());
    if (Occasional* const occasional = computes.occasional()) {
      occasional->run_at_any_step(context);
    } else {
      computes.run(context);
    }
    request_.lanes[turn.front().lane]->fetch_losses_of(id);
    return;
  }
  std::vector<QueuedExchange*> exchanges;
  for (const Stand& stand : turn) {
    exchanges.push_back(kernel(stand).queued_exchange());
    if (exchanges.back() == nullptr) {
      throw RunError(ErrorKind::Unsupported, "it is the host's work, done between others");
    }
    phase.exchanges.push_back(exchanges.back());
    if (exchanges.back()->awaits_others()) phase.awaiting.push_back(exchanges.back());
  }
  if (exchanges.front()->shared_launch() == nullptr) return exchanges.front()->enqueue();
  meet(turn, exchanges, recorder);
}

/// The queue of the member in charge waits for the other queues, and they wait for its work.
void CapturedLoop::meet(const Turn& turn, std::span<QueuedExchange* const> exchanges,
                        StepRecorder& recorder) {
  const auto launcher =
      std::find(exchanges.begin(), exchanges.end(), exchanges.front()->shared_launch()->launcher);
  check(launcher != exchanges.end(), "the launcher of a shared launch is a member of it");
  const std::size_t lane = turn[static_cast<std::size_t>(launcher - exchanges.begin())].lane;
  for (const Stand& other : turn) {
    if (other.lane != lane) recorder.wait(lane, recorder.mark(other.lane));
  }
  (*launcher)->enqueue();
  const StepRecorder::Mark done = recorder.mark(lane);
  for (const Stand& other : turn) {
    if (other.lane != lane) recorder.wait(other.lane, done);
  }
}

CapturedLoop::Phase& CapturedLoop::phase_at(std::int64_t examples) {
  const auto found = std::find_if(phases_.begin(), phases_.end(),
                                  [&](const Phase& phase) { return examples < phase.end; });
  check(found != phases_.end(), "a captured step was recorded");
  return *found;
}

bool CapturedLoop::all_rest(const StepContext& context) const {
  return std::all_of(resting_.begin(), resting_.end(),
                     [&](const Occasional* each) { return !each->is_due(context); });
}

void CapturedLoop::run(const StepContext& context, const Patience& patience) {
  for (Lane* lane : request_.lanes) lane->queue()->set_step(context);
  const Phase& phase = phase_at(context.examples);
  try {
    const bool rests = phase.resting_step != nullptr && all_rest(context);
    (rests ? phase.resting_step : phase.step)->launch();
    await(phase, patience);
  } catch (...) {
    give_up();
    throw;
  }
  for (QueuedExchange* exchange : phase.exchanges) exchange->count_step();
}

/// Waits for the launched step; without exchanges that await other members it ends soon by itself.
void CapturedLoop::await(const Phase& phase, const Patience& patience) const {
  LaneQueue& origin = *request_.lanes.front()->queue();
  if (phase.awaiting.empty()) return origin.finish();
  const std::int64_t began = now_ns();
  origin.finish_while([&] {
    if (patience.abort->raised.load(std::memory_order_relaxed)) throw Aborted();
    for (QueuedExchange* exchange : phase.awaiting) exchange->look(now_ns() - began);
  });
}

void CapturedLoop::give_up() noexcept {
  std::set<QueuedExchange*> exchanges;
  for (const Phase& phase : phases_) {
    exchanges.insert(phase.awaiting.begin(), phase.awaiting.end());
  }
  phases_.clear();
  for (QueuedExchange* exchange : exchanges) exchange->give_up();
  try {
    request_.lanes.front()->queue()->finish();  // before the kernels in it are destroyed
  } catch (const RunError&) {                   // the error that ended the run is known already
  }
}

std::vector<std::unique_ptr<CapturedLoop>> capture_loops(
    const Graph& graph, std::span<const std::unique_ptr<Lane>> lanes, Device& device) {
  if (!exchanges_are_alike(graph)) {
    throw RunError(ErrorKind::Unsupported,
                   "steps of which some leave nodes out are not launched as one");
  }
  std::vector<Lane*> all;
  std::map<int, std::vector<Lane*>> by_loop;
  for (const auto& lane : lanes) {
    all.push_back(lane.get());
    std::vector<Lane*>& loop = by_loop[lane->plan().loop];
    loop.insert(lane->leads() ? loop.begin() : loop.end(), lane.get());
  }
  std::vector<std::unique_ptr<CapturedLoop>> captured;
  for (const auto& [number, loop] : by_loop) {
    captured.push_back(std::make_unique<CapturedLoop>(
        CapturedLoop::Request{.graph = graph, .lanes = loop, .all_lanes = all, .device = device}));
    captured.back()->record();
    for (Lane* lane : loop) lane->set_captured(*captured.back());
  }
  return captured;
}

}  // namespace regatta
