// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/captured_loop.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "kernels/graph/error.h"
#include "kernels/graph/expiry.h"
#include "kernels/runtime/clock.h"
#include "kernels/runtime/lane.h"
#include "kernels/runtime/queued_exchange.h"
#include "kernels/runtime/step_recorder.h"

namespace regatta {
namespace {

bool needs_an_exchange(const Node& node) {
  return op_info(node.op).crosses || node.op == Op::Quorum;
}

std::string text_of(const Node& node) {
  return std::string(to_string(node.op)) + " of " + node.layer + " on " + to_string(node.place);
}

}  // namespace

CapturedLoop::CapturedLoop(const Request& request) : request_(request) {
  for (std::size_t lane = 0; lane < request_.lanes.size(); ++lane) {
    const auto& instructions = request_.lanes[lane]->plan().instructions;
    for (std::size_t index = 0; index < instructions.size(); ++index) {
      turns_.push_back({.node = instructions[index].node, .lane = lane, .index = index});
    }
  }
  std::sort(turns_.begin(), turns_.end(),
            [](const Turn& a, const Turn& b) { return a.node < b.node; });
}

CapturedLoop::~CapturedLoop() = default;

void CapturedLoop::record() {
  std::set<std::int64_t> ends{kNever};
  for (const Turn& turn : turns_) {
    ends.insert(request_.expiries[static_cast<std::size_t>(turn.node)]);
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
  const std::unique_ptr<StepRecorder> recorder = request_.device.make_recorder();
  if (recorder == nullptr) {
    throw RunError(ErrorKind::Unsupported, "steps are captured on a GPU only");
  }
  std::vector<LaneQueue*> queues;
  std::map<const Lane*, std::size_t> numbers;
  for (Lane* lane : request_.lanes) {
    numbers[lane] = queues.size();
    queues.push_back(lane->queue());
  }
  recorder->begin(queues);
  LaneCounters counters;
  const StepContext context{.step = 0, .examples = begin, .counters = &counters};
  std::map<std::pair<std::size_t, std::size_t>, StepRecorder::Mark> marks;
  Phase phase;
  for (const Turn& turn : turns_) {
    const Lane& lane = *request_.lanes[turn.lane];
    const Instruction& instruction = lane.plan().instructions[turn.index];
    try {
      for (const Dependency& wait : instruction.waits) {
        const Lane* const other = request_.all_lanes[static_cast<std::size_t>(wait.lane)];
        recorder->wait(turn.lane,
                       marks.at({numbers.at(other), static_cast<std::size_t>(wait.index)}));
      }
      put(turn, context, phase);
      recorder->look();
      if (instruction.awaited) marks[{turn.lane, turn.index}] = recorder->mark(turn.lane);
    } catch (const RunError& error) {
      throw RunError(error.kind(), "a step cannot be captured because of " +
                                       text_of(request_.graph.node(turn.node)) + ": " +
                                       error.what());
    }
  }
  phase.step = recorder->end();
  return phase;
}

/// Nothing for a node that has expired.
void CapturedLoop::put(const Turn& turn, const StepContext& context, Phase& phase) const {
  if (context.examples >= request_.expiries[static_cast<std::size_t>(turn.node)]) return;
  Lane& lane = *request_.lanes[turn.lane];
  Kernel& kernel = lane.kernel(turn.index);
  if (!needs_an_exchange(request_.graph.node(turn.node))) {
    kernel.run(context);
    lane.fetch_losses_of(turn.node);
    return;
  }
  QueuedExchange* const exchange = kernel.queued_exchange();
  if (exchange == nullptr) {
    throw RunError(ErrorKind::Unsupported, "it is the host's work, done between others");
  }
  exchange->enqueue();
  phase.exchanges.push_back(exchange);
  if (exchange->awaits_others()) phase.awaiting.push_back(exchange);
}

CapturedLoop::Phase& CapturedLoop::phase_at(std::int64_t examples) {
  const auto found = std::find_if(phases_.begin(), phases_.end(),
                                  [&](const Phase& phase) { return examples < phase.end; });
  check(found != phases_.end(), "a captured step was recorded");
  return *found;
}

void CapturedLoop::run(const StepContext& context, const Patience& patience) {
  for (Lane* lane : request_.lanes) lane->queue()->begin_step(context);
  const Phase& phase = phase_at(context.examples);
  try {
    phase.step->launch();
    await(phase, patience);
  } catch (...) {
    give_up();
    throw;
  }
  for (QueuedExchange* exchange : phase.exchanges) exchange->count_step();
}

/// What waits for nobody ends by itself, and soon.
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
    request_.lanes.front()->queue()->finish();  // before kernels that it uses are gone
  } catch (const RunError&) {                   // what ended the run is known already
  }
}

std::vector<std::unique_ptr<CapturedLoop>> capture_loops(
    const Graph& graph, std::span<const std::unique_ptr<Lane>> lanes,
    std::span<const std::int64_t> expiries, Device& device) {
  std::vector<Lane*> all;
  std::map<int, std::vector<Lane*>> by_loop;
  for (const auto& lane : lanes) {
    all.push_back(lane.get());
    std::vector<Lane*>& loop = by_loop[lane->plan().loop];
    loop.insert(lane->leads() ? loop.begin() : loop.end(), lane.get());
  }
  std::vector<std::unique_ptr<CapturedLoop>> captured;
  for (const auto& [number, loop] : by_loop) {
    captured.push_back(std::make_unique<CapturedLoop>(CapturedLoop::Request{
        .graph = graph, .lanes = loop, .all_lanes = all, .expiries = expiries, .device = device}));
    captured.back()->record();
    for (Lane* lane : loop) lane->set_captured(*captured.back());
  }
  return captured;
}

}  // namespace regatta
