// SPDX-License-Identifier: Apache-2.0
//
// A lane: a fixed list of kernels and the thread that runs them in every step. Consecutive kernels
// of one category form a segment; the clock is read only between segments, unless a trace needs a
// reading for every kernel. A lane with a queue finishes it at the end of every segment. A
// segment's time is therefore that of its own work, and its results are ready for their readers: a
// loss probe, another lane, a communication kernel on the host, or the end of the step.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/runtime/compute_delay.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/loops/step_rule.h"
#include "kernels/runtime/measure/trace.h"
#include "kernels/runtime/plan.h"

namespace regatta {

enum class Category : std::uint8_t { Input, Compute, Communication, Update };
inline constexpr std::size_t kCategories = 4;
Category category_of(const Graph& graph, const Node& node);
std::string_view to_string(Category category);

/// A loss to read after the node that makes it, and where to store its values.
struct LossProbe {
  NodeId node = -1;
  const float* value = nullptr;  ///< in the memory of the lane's device
  float* fetched = nullptr;      ///< the host's copy, once the queue is finished; null: no queue
  /// Receives the loss of step k as entry k; its size is set before the run. Null for a term of a
  /// loss, which is only checked.
  std::vector<float>* history = nullptr;
  std::atomic<float>* latest = nullptr;  ///< read by monitors while lanes run; null for a term
  std::set<NodeId> made_from = {};       ///< nodes_behind() the loss, which a diagnosis reruns
};

/// The data of one instruction that the diagnosis of a diverged run examines.
struct Evidence {
  std::vector<Tensor> outputs;
  std::vector<std::pair<std::string, Tensor>> state;  ///< variables that no loops share
};

struct LaneOptions {
  StepRule& rule;       ///< the rule of the lane's loop
  double slowdown = 1;  ///< factor by which a straggler's computing is slowed
  std::size_t trace_events = 0;
  Patience patience;
  std::vector<int> cores;          ///< the cores to pin the thread to; empty: not pinned
  int threads = 1;                 ///< OpenMP threads
  LaneQueue* queue = nullptr;      ///< null: kernels compute in run() itself
  Device* device = nullptr;        ///< the device that holds the lane's values
  QueuedCounts* counts = nullptr;  ///< in the device's memory; null without a queue
};

class CapturedLoop;

class Lane {
 public:
  Lane(const Graph& graph, const LanePlan& plan, LaneOptions options);

  void add_kernel(std::unique_ptr<Kernel> kernel, Evidence evidence) {
    kernels_.push_back(std::move(kernel));
    evidence_.push_back(std::move(evidence));
  }
  void add_probe(const LossProbe& probe) { probes_.push_back(probe); }
  /// Called after all kernels and probes are added. `all_lanes` holds all lanes of the process, in
  /// the order of the plan; `loop` holds the lanes of this lane's loop.
  void finish_building(std::vector<Lane*> all_lanes, std::vector<Lane*> loop);

  /// Makes this lane its loop's leader in this process: it asks the rule for the loop's steps, at
  /// most `max_steps`, and records each step's time.
  void lead(std::int64_t max_steps);
  /// Makes `step` the first step to run. `examples_before` are the examples that all loops had seen
  /// when the step before it began. Called before the first step.
  void begin_at(std::int64_t step, std::int64_t examples_before);
  /// Makes the leader launch each step of the loop as one recorded step from now on.
  void set_captured(CapturedLoop& captured) { captured_ = &captured; }

  /// Pins the calling thread and starts its OpenMP team. Threads: called only by the lane's thread.
  void adopt_thread() const;
  /// Shuts down the calling thread's OpenMP team; adopt_thread() starts a new one. Threads: the
  /// lane's thread.
  void end_team() const;
  /// Runs steps until the loop's rule ends the loop's run (Ticket::runs is false). Threads: the
  /// lane's thread. Throws: RunError, Aborted.
  void run();

  const LanePlan& plan() const { return plan_; }
  Kernel& kernel(std::size_t index) const { return *kernels_[index]; }
  /// Enqueues copies to the host of the losses that the node makes.
  void fetch_losses_of(NodeId node) const;
  bool leads() const { return leads_; }
  LaneQueue* queue() const { return options_.queue; }
  const LaneCounters& counters() const { return counters_; }
  QueuedCounts* queued_counts() const { return options_.counts; }
  Device& device() const { return *options_.device; }
  std::int64_t first_step() const { return first_step_; }
  std::int64_t steps() const { return step_; }  ///< counted across resumed runs
  std::uint64_t spent(Category category) const {
    return spent_[static_cast<std::size_t>(category)];
  }
  std::uint64_t delayed() const { return delay_ ? delay_->total() : 0; }
  std::uint64_t waited() const { return waited_; }
  std::uint64_t bubble() const { return bubble_; }  ///< waits for other stages, a part of waited()
  std::uint64_t exposed() const { return exposed_; }
  std::uint64_t total() const { return total_; }
  const std::vector<std::uint64_t>& step_ticks() const { return step_ticks_; }
  const std::vector<std::int64_t>& step_examples() const { return step_examples_; }
  /// Returns the lane's row of a trace, with ticks converted to the steady clock.
  TraceRow trace_row(const TickMap& clock) const;
  std::string name() const;

 private:
  struct Segment {
    std::size_t begin = 0;
    std::size_t end = 0;
    Category category = Category::Compute;
    bool waits = false;      ///< the first instruction's dependencies
    bool publishes = false;  ///< another lane awaits the last instruction
    bool of_stage = false;   ///< receives messages from another stage of the replica
    int probe = -1;          ///< the last instruction makes this loss
  };

  void build_segments();
  void make_room_for_losses();
  void merge_in_segments() const;
  void fetch(const LossProbe& probe) const { options_.queue->fetch(probe.fetched, probe.value); }
  Ticket next_ticket();
  /// Whether the next step waits for others: lanes of its loop, other processes, slower loops.
  bool waits_to_begin() const {
    return !loop_.empty() || (leads_ && options_.rule.waits_for_others());
  }
  std::uint64_t run_step(const Ticket& ticket, std::uint64_t begin);
  std::uint64_t run_segments(const StepContext& context, std::uint64_t begin);
  std::uint64_t run_captured(const StepContext& context, std::uint64_t begin);
  void end_captured(std::uint64_t span);
  void end_step(const StepContext& context, std::uint64_t span);
  void wait_for_loop();
  std::uint64_t for_stages_since(std::uint64_t begin) const;
  std::uint64_t wait_for_dependencies(const Instruction& instruction, std::uint64_t now);
  void wait_for(Lane& other, std::uint64_t progress, std::string_view what);
  std::uint64_t run_segment(const Segment& segment, const StepContext& context, std::uint64_t now);
  /// Throws: RunError that names step and lane, for an error that the device reports.
  void finish_queue();
  std::string where_in_step() const {
    return "step " + std::to_string(step_) + " on " + name() + ": ";
  }
  const LossProbe& probe_of(const Segment& segment) const {
    return probes_[static_cast<std::size_t>(segment.probe)];
  }
  void check_loss(const LossProbe& probe);
  bool is_finite(const Tensor& tensor) const;
  [[noreturn]] void diverged(const LossProbe& probe);

  const Graph& graph_;
  const LanePlan& plan_;
  LaneOptions options_;
  std::optional<ComputeDelay> delay_;  ///< set if the worker is a straggler
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<Evidence> evidence_;
  std::vector<LossProbe> probes_;
  std::vector<Segment> segments_;
  std::vector<Lane*> all_lanes_;
  std::vector<Lane*> loop_;  ///< the loop's other lanes, those of other stages of the replica first
  std::size_t stages_ = 0;   ///< the number of lanes of other stages

  CapturedLoop* captured_ = nullptr;
  bool leads_ = false;
  std::uint64_t tickets_ = 0;

  Counter progress_;  ///< instructions finished since the first step
  LaneCounters counters_;
  std::int64_t first_step_ = 0;
  std::int64_t step_ = 0;
  std::int64_t examples_before_ = 0;
  std::array<std::uint64_t, kCategories> spent_{};
  std::uint64_t waited_ = 0;
  std::uint64_t bubble_ = 0;
  std::int64_t stages_ended_step_ = -1;  ///< the step before which stages_ended_ was noted
  std::uint64_t stages_ended_ = 0;
  std::uint64_t exposed_ = 0;
  std::uint64_t total_ = 0;
  std::vector<std::uint64_t> step_ticks_;
  std::vector<std::int64_t> step_examples_;
  TraceBuffer trace_;
};

}  // namespace regatta
