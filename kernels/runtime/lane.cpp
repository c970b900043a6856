// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/lane.h"

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "kernels/base/error.h"
#include "kernels/runtime/affinity.h"
#include "kernels/runtime/measure/clock.h"
#include "kernels/runtime/merge.h"

namespace regatta {

namespace {

bool is_shared(const Graph& graph, const Node& node) {
  return graph.variable(node.variables.front()).sharing != Sharing::None;
}

}  // namespace

Category category_of(const Graph& graph, const Node& node) {
  if (node.op == Op::Input) return Category::Input;
  const bool pulls = node.op == Op::Read && !is_view(graph, node);
  const bool averages = is_average(node.op) || (node.op == Op::Assign && is_shared(graph, node));
  if (op_info(node.op).crosses || pulls || averages) return Category::Communication;
  return node.phase == Phase::Update ? Category::Update : Category::Compute;
}

std::string_view to_string(Category category) {
  switch (category) {
    case Category::Input: return "input";
    case Category::Compute: return "compute";
    case Category::Communication: return "communication";
    case Category::Update: return "update";
  }
  return "unknown";
}

Lane::Lane(const Graph& graph, const LanePlan& plan, LaneOptions options)
    : graph_(graph), plan_(plan), options_(std::move(options)), trace_(options_.trace_events) {
  if (options_.slowdown > 1 && !plan_.communication) {
    delay_.emplace(options_.slowdown, options_.patience.abort);
  }
}

std::string Lane::name() const {
  const char* const what = plan_.receives ? " receiving" : " communication";
  return to_string(plan_.place) + (plan_.communication ? what : "");
}

void Lane::finish_building(std::vector<Lane*> all_lanes, std::vector<Lane*> loop) {
  all_lanes_ = std::move(all_lanes);
  loop_ = std::move(loop);
  std::erase(loop_, this);
  const auto stages = std::stable_partition(loop_.begin(), loop_.end(), [this](const Lane* other) {
    return are_stages(plan_.place, other->plan_.place);
  });
  stages_ = static_cast<std::size_t>(stages - loop_.begin());
  build_segments();
  if (options_.queue == nullptr) return;
  make_room_for_losses();
  if (options_.trace_events == 0) merge_in_segments();
}

void Lane::lead(std::int64_t max_steps) {
  leads_ = true;
  step_ticks_.resize(static_cast<std::size_t>(max_steps));
  step_examples_.resize(static_cast<std::size_t>(max_steps));
}

void Lane::begin_at(std::int64_t step, std::int64_t examples_before) {
  first_step_ = step_ = step;
  examples_before_ = examples_before;
  if (step == 0) return;
  progress_.advance_to(static_cast<std::uint64_t>(step) * plan_.instructions.size());
}

void Lane::build_segments() {
  const bool each = options_.trace_events > 0;
  bool open = false;
  for (std::size_t i = 0; i < plan_.instructions.size(); ++i) {
    const Instruction& instruction = plan_.instructions[i];
    const Category category = category_of(graph_, graph_.node(instruction.node));
    const bool waits = !instruction.waits.empty();
    if (!open || each || waits || segments_.back().category != category) {
      segments_.push_back({.begin = i,
                           .end = i,
                           .category = category,
                           .waits = waits,
                           .publishes = false,
                           .of_stage = false,
                           .probe = -1});
    }
    Segment& segment = segments_.back();
    segment.of_stage |= comes_from_stage(graph_, graph_.node(instruction.node));
    segment.end = i + 1;
    segment.publishes = instruction.awaited;
    for (std::size_t p = 0; p < probes_.size(); ++p) {
      if (probes_[p].node == instruction.node) segment.probe = static_cast<int>(p);
    }
    open = !segment.publishes && segment.probe < 0;
  }
}

void Lane::make_room_for_losses() {
  if (probes_.empty()) return;
  float* next = options_.queue->make_room(std::ssize(probes_));
  for (LossProbe& probe : probes_) probe.fetched = next++;
}

/// Merges the kernels of each segment, except with a trace, which has a row for each kernel.
void Lane::merge_in_segments() const {
  for (const Segment& segment : segments_) {
    std::vector<NodeKernel> kernels;
    for (std::size_t i = segment.begin; i < segment.end; ++i) {
      kernels.push_back(node_kernel(graph_, plan_.instructions[i].node, *kernels_[i]));
    }
    merge_kernels(kernels);
  }
}

void Lane::adopt_thread() const { adopt_team(options_.threads, options_.cores); }

void Lane::end_team() const {
  if (options_.threads > 1) omp_pause_resource(omp_pause_soft, omp_get_initial_device());
}

void Lane::run() {
  if (captured_ != nullptr && !leads()) return;
  std::uint64_t now = ticks();
  for (;;) {
    const Ticket ticket = next_ticket();
    if (!ticket.runs) break;
    now = run_step(ticket, now);
  }
  if (loop_.empty() || captured_ != nullptr) return;
  wait_for_loop();  // a loop ends when all its lanes have ended
  bubble_ += for_stages_since(now);
  const std::uint64_t for_loop = ticks() - now;
  waited_ += for_loop;
  total_ += for_loop;
}

Ticket Lane::next_ticket() {
  if (options_.patience.abort->raised.load(std::memory_order_relaxed)) throw Aborted();
  if (!leads_) {
    bool timed_out = false;
    const Ticket ticket = options_.rule.follow(tickets_++, options_.patience, timed_out);
    if (!timed_out) return ticket;
    throw RunError(ErrorKind::Timeout, "step " + std::to_string(step_) + ": " + name() +
                                           " waited in vain for its loop's leader to begin");
  }
  if (options_.rule.follows_end()) wait_for_loop();
  const Ticket ticket = options_.rule.lead(step_, options_.patience);
  if (!ticket.ends) return ticket;
  wait_for_loop();
  throw RunError(ErrorKind::PeerLost, options_.rule.why_it_ends());
}

/// `begin`: when the lane began to wait for the ticket. Returns the step's end. Units: ticks.
std::uint64_t Lane::run_step(const Ticket& ticket, std::uint64_t begin) {
  const StepContext context{.step = step_,
                            .examples = ticket.examples,
                            .examples_before = examples_before_,
                            .counters = &counters_};
  std::uint64_t now =
      captured_ != nullptr ? run_captured(context, begin) : run_segments(context, begin);
  if (leads_) {
    const auto index = static_cast<std::size_t>(step_);
    check(index < step_ticks_.size(), "a run has no more steps than it was built for");
    step_ticks_[index] = now - begin;
    step_examples_[index] = ticket.examples;
  }
  end_step(context, now - begin);
  return now;
}

std::uint64_t Lane::run_segments(const StepContext& context, std::uint64_t begin) {
  std::uint64_t now = begin;
  if (!loop_.empty()) wait_for_loop();
  bubble_ += for_stages_since(begin);
  if (options_.queue != nullptr) options_.queue->begin_step(context);
  if (waits_to_begin()) {
    now = ticks();
    waited_ += now - begin;
  }
  for (const Segment& segment : segments_) {
    if (segment.waits) now = wait_for_dependencies(plan_.instructions[segment.begin], now);
    now = run_segment(segment, context, now);
  }
  return now;
}

void Lane::end_step(const StepContext& context, std::uint64_t span) {
  total_ += span;
  ++step_;
  examples_before_ = context.examples;
  if (!loop_.empty()) {
    progress_.advance_to(static_cast<std::uint64_t>(step_) * plan_.instructions.size());
  }
}

/// Returns when all lanes of the loop have finished the previous step; no lane begins earlier.
void Lane::wait_for_loop() {
  for (std::size_t i = 0; i < loop_.size(); ++i) {
    wait_for(*loop_[i], static_cast<std::uint64_t>(step_) * loop_[i]->plan_.instructions.size(),
             "the end of the step before");
    if (i + 1 != stages_ || stages_ended_step_ == step_) continue;
    stages_ended_step_ = step_;
    stages_ended_ = ticks();
  }
}

/// Time since `begin` spent waiting for other stages; 0 if they ended before, as at a run's start.
std::uint64_t Lane::for_stages_since(std::uint64_t begin) const {
  return stages_ > 0 && stages_ended_ > begin ? stages_ended_ - begin : 0;
}

std::uint64_t Lane::wait_for_dependencies(const Instruction& instruction, std::uint64_t now) {
  for (const Dependency& wait : instruction.waits) {
    Lane& other = *all_lanes_[static_cast<std::size_t>(wait.lane)];
    const bool own_messages = other.plan_.communication && other.plan_.place == plan_.place;
    const bool peer = plan_.communication && other.plan_.place != plan_.place;
    const std::uint64_t idle = other.counters_.peer_waits.until(now);
    const auto index = static_cast<std::size_t>(wait.index);
    if (peer) counters_.peer_waits.begin(now);
    wait_for(other, static_cast<std::uint64_t>(step_) * other.plan_.instructions.size() + index + 1,
             {});
    const std::uint64_t end = ticks();
    if (peer) counters_.peer_waits.end(end);
    const std::uint64_t span = end - now;
    // A lane's own messages, while it waits for them, may be waiting for others to arrive.
    const std::uint64_t others =
        own_messages ? std::min(span, other.counters_.peer_waits.until(end) - idle) : span;
    waited_ += others;
    if (wait.of_stage) bubble_ += others;
    exposed_ += span - others;
    if (options_.trace_events > 0) {
      trace_.add({.instruction = -1, .step = step_, .begin = now, .end = end});
    }
    now = end;
  }
  return now;
}

void Lane::wait_for(Lane& other, std::uint64_t progress, std::string_view what) {
  Patience patience = options_.patience;
  // The other lane may need this core if both are of one device.
  if (other.plan_.place == plan_.place) patience.spins = 0;
  if (other.progress_.wait_for(progress, patience)) return;
  std::string awaited(what);
  if (awaited.empty()) {
    const auto index = (progress - 1) % other.plan_.instructions.size();
    const Node& node = graph_.node(other.plan_.instructions[index].node);
    awaited = std::string(to_string(node.op)) + " of " + node.layer;
  }
  throw RunError(ErrorKind::Timeout, "step " + std::to_string(step_) + ": " + name() + " waited " +
                                         std::to_string(patience.limit_ns / 1'000'000'000) +
                                         " s for " + awaited + " on " + other.name());
}

std::uint64_t Lane::run_segment(const Segment& segment, const StepContext& context,
                                std::uint64_t now) {
  const std::uint64_t idle = counters_.peer_waits.until(now);
  for (std::size_t i = segment.begin; i < segment.end; ++i) kernels_[i]->run(context);
  if (options_.queue != nullptr) {
    if (segment.probe >= 0) fetch(probe_of(segment));
    finish_queue();
  }
  std::uint64_t end = ticks();
  if (delay_ && segment.category == Category::Compute) end = delay_->after(end - now, end);
  std::uint64_t span = end - now;
  if (options_.trace_events > 0) {
    trace_.add({.instruction = static_cast<std::int32_t>(segment.begin),
                .step = step_,
                .begin = now,
                .end = end});
  }
  if (segment.category == Category::Communication) {
    const std::uint64_t others = std::min(span, counters_.peer_waits.until(end) - idle);
    waited_ += others;
    if (segment.of_stage) bubble_ += others;
    span -= others;
    exposed_ += span;
  }
  spent_[static_cast<std::size_t>(segment.category)] += span;
  if (segment.probe >= 0) check_loss(probe_of(segment));
  if (segment.publishes) {
    progress_.advance_to(static_cast<std::uint64_t>(step_) * plan_.instructions.size() +
                         segment.end);
  }
  return end;
}

void Lane::finish_queue() {
  try {
    options_.queue->finish();
  } catch (const RunError& error) {
    throw RunError(error.kind(), where_in_step() + error.what());
  }
}

void Lane::check_loss(const LossProbe& probe) {
  const float loss = options_.queue == nullptr ? *probe.value : *probe.fetched;
  if (probe.history != nullptr) {
    (*probe.history)[static_cast<std::size_t>(step_)] = loss;
    probe.latest->store(loss, std::memory_order_relaxed);
  }
  if (!std::isfinite(loss)) diverged(probe);
}

TraceRow Lane::trace_row(const TickMap& clock) const {
  TraceRow row;
  row.name = name();
  row.labels.push_back({.name = "wait", .category = "wait"});
  for (const Instruction& instruction : plan_.instructions) {
    const Node& node = graph_.node(instruction.node);
    std::string name = std::string(to_string(node.op)) + ' ' + node.layer;
    if (node.attributes.has("between")) name += " between " + node.attributes.text("between");
    row.labels.push_back(
        {.name = std::move(name), .category = std::string(to_string(category_of(graph_, node)))});
  }
  add_spans(row, trace_, clock);
  return row;
}

}  // namespace regatta
