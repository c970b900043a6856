// SPDX-License-Identifier: Apache-2.0
//
// One lane: a fixed list of kernels and the thread that runs it. Consecutive kernels of one
// category form a segment; the clock is read between segments only, unless a trace or a straggler
// asks for every kernel. A lane with a queue finishes it at the end of every segment: so a
// segment's time is that of its own work, and whatever looks at memory (a loss probe, another lane,
// a kernel of the host's that communicates, the end of the step) finds it done.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/loops/gate.h"
#include "kernels/runtime/loops/quorums.h"
#include "kernels/runtime/loops/staleness_bound.h"
#include "kernels/runtime/measure/trace.h"
#include "kernels/runtime/plan.h"

namespace regatta {

enum class Category : std::uint8_t { Input, Compute, Communication, Update };
inline constexpr std::size_t kCategories = 4;
Category category_of(const Graph& graph, const Node& node);
std::string_view to_string(Category category);

/// Where a loss is and where its history goes.
struct LossProbe {
  NodeId node = -1;
  const float* value = nullptr;
  std::vector<float>* history = nullptr;  ///< entry k is step k; sized before the run
};

/// What the diagnosis of a diverged run looks at, for one instruction.
struct Evidence {
  std::vector<Tensor> outputs;
  std::vector<std::pair<std::string, Tensor>> state;  ///< variables it alone uses, by name
};

struct LaneOptions {
  double slowdown = 1;  ///< factor on the time of compute kernels
  std::size_t trace_events = 0;
  Patience patience;
  std::vector<int> cores;          ///< to pin the thread to; empty: none
  int threads = 1;                 ///< for OpenMP
  LaneQueue* queue = nullptr;      ///< of its device; null: kernels do their work at once
  QueuedCounts* counts = nullptr;  ///< of what is in the queue
};

class CapturedLoop;

/// What the first lane of a loop does for it.
struct Leadership {
  ExampleCount& count;
  std::int64_t examples = 0;  ///< of one step of the loop
  std::int64_t max_steps = 0;
  int loop = 0;                     ///< in the whole graph
  TicketPost* sends = nullptr;      ///< tickets that it makes go there, too
  TicketPost* hears = nullptr;      ///< it makes none: they come from there
  StalenessBound* bound = nullptr;  ///< null: none
  Quorums* quorums = nullptr;       ///< null: none
  Absence* absence = nullptr;       ///< of its worker, if others go on without that
};

class Lane {
 public:
  Lane(const Graph& graph, const LanePlan& plan, LaneOptions options);

  void add_kernel(std::unique_ptr<Kernel> kernel, Evidence evidence) {
    kernels_.push_back(std::move(kernel));
    evidence_.push_back(std::move(evidence));
  }
  void add_probe(const LossProbe& probe) { probes_.push_back(probe); }
  /// After all kernels and probes are there. `loop` holds all lanes of this lane's loop.
  void finish_building(std::vector<Lane*> all_lanes, std::vector<Lane*> loop);

  /// The leader of a loop claims its steps, or hears of them, and keeps its times.
  void lead(const Leadership& leadership);
  void set_gate(Gate& gate) { gate_ = &gate; }
  /// The first step that it runs, and the examples seen by all when the one before began. Before it
  /// runs any.
  void begin_at(std::int64_t step, std::int64_t examples_before);
  /// From now on the loop's steps are launched as one, which its leader does.
  void set_captured(CapturedLoop& captured) { captured_ = &captured; }

  /// Pins and prepares the calling thread. Threads: the lane's thread, as all below but the
  /// reports.
  void adopt_thread() const;
  /// Runs steps until the gate closes. Throws: RunError, Aborted.
  void run();

  const LanePlan& plan() const { return plan_; }
  Kernel& kernel(std::size_t index) const { return *kernels_[index]; }
  /// Has the queue fetch the losses that the node makes.
  void fetch_losses_of(NodeId node) const;
  bool leads() const { return leadership_.has_value(); }
  LaneQueue* queue() const { return options_.queue; }
  const LaneCounters& counters() const { return counters_; }
  QueuedCounts* queued_counts() const { return options_.counts; }
  std::int64_t first_step() const { return first_step_; }
  std::int64_t steps() const { return step_; }  ///< since the first step ever
  std::uint64_t spent(Category category) const {
    return spent_[static_cast<std::size_t>(category)];
  }
  std::uint64_t waited() const { return waited_; }
  std::uint64_t exposed() const { return exposed_; }
  std::uint64_t total() const { return total_; }
  const std::vector<std::uint64_t>& step_ticks() const { return step_ticks_; }
  const std::vector<std::int64_t>& step_examples() const { return step_examples_; }
  TraceRow trace_row() const;
  std::string name() const;

 private:
  struct Segment {
    std::size_t begin = 0;
    std::size_t end = 0;
    Category category = Category::Compute;
    bool waits = false;      ///< the first instruction's dependencies
    bool publishes = false;  ///< another lane awaits the last instruction
    int probe = -1;          ///< the last instruction makes this loss
  };

  void build_segments();
  Ticket next_ticket();
  Ticket lead_ticket();
  Ticket begin_step();
  Ticket hear_ticket();
  void publish(const Ticket& ticket);
  void await_turn();
  /// For others: its loop's lanes, other processes, slower loops.
  bool waits_to_begin() const {
    return !loop_.empty() ||
           (leadership_ && (leadership_->bound || leadership_->quorums || leadership_->hears));
  }
  std::uint64_t run_step(const Ticket& ticket, std::uint64_t begin);
  std::uint64_t run_segments(const StepContext& context, std::uint64_t begin);
  std::uint64_t run_captured(const StepContext& context, std::uint64_t begin);
  void end_captured(std::uint64_t span);
  void end_step(const StepContext& context, std::uint64_t span);
  void wait_for_loop();
  std::uint64_t wait_for_dependencies(const Instruction& instruction, std::uint64_t now);
  void wait_for(Lane& other, std::uint64_t progress, std::string_view what);
  std::uint64_t run_segment(const Segment& segment, const StepContext& context, std::uint64_t now);
  void run_kernels_slowly(const Segment& segment, const StepContext& context);
  /// Throws: RunError of what the device reports, naming step and lane.
  void finish_queue();
  std::string where_in_step() const {
    return "step " + std::to_string(step_) + " on " + name() + ": ";
  }
  const LossProbe& probe_of(const Segment& segment) const {
    return probes_[static_cast<std::size_t>(segment.probe)];
  }
  void check_loss(const LossProbe& probe);
  [[noreturn]] void diverged(const LossProbe& probe);
  bool dawdles() const { return options_.slowdown > 1 && !plan_.communication; }

  const Graph& graph_;
  const LanePlan& plan_;
  LaneOptions options_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<Evidence> evidence_;
  std::vector<LossProbe> probes_;
  std::vector<Segment> segments_;
  std::vector<Lane*> all_lanes_;
  std::vector<Lane*> loop_;

  Gate* gate_ = nullptr;
  CapturedLoop* captured_ = nullptr;
  std::optional<Leadership> leadership_;
  std::uint64_t tickets_ = 0;

  Counter progress_;  ///< instructions finished since the first step
  LaneCounters counters_;
  std::int64_t first_step_ = 0;
  std::int64_t step_ = 0;
  std::int64_t examples_before_ = 0;
  std::array<std::uint64_t, kCategories> spent_{};
  std::uint64_t waited_ = 0;
  std::uint64_t exposed_ = 0;
  std::uint64_t total_ = 0;
  std::vector<std::uint64_t> step_ticks_;
  std::vector<std::int64_t> step_examples_;
  TraceBuffer trace_;
};

}  // namespace regatta
