// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/executor.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "kernels/runtime/affinity.h"
#include "kernels/runtime/capture/captured_loop.h"
#include "kernels/runtime/capture/lane_queues.h"
#include "kernels/runtime/guard/gradient_guard.h"
#include "kernels/runtime/guard/loss_evidence.h"
#include "kernels/runtime/kernel_memory.h"
#include "kernels/runtime/lane.h"
#include "kernels/runtime/lane_threads.h"
#include "kernels/runtime/measure/clock.h"
#include "kernels/runtime/scratch.h"
#include "kernels/runtime/worker_cores.h"

namespace regatta {
namespace {

/// Polls before a wait sleeps, about 20 us, if every lane has a core of its own.
constexpr int kSpins = 400;
/// Polls with a yield after each, if lanes share cores: three lanes of the parabola on two cores
/// then take 30 us a step, and 80 us if they sleep at once.
constexpr int kYields = 50;

PlanOptions planned_for(const PlacedDevices& devices, PlanOptions options) {
  options.gathers_casts = [devices](const Place& place) {
    return devices.device(place).has_queues();
  };
  return options;
}

}  // namespace

class Executor::Impl {
 public:
  Impl(const Step& part, const PlacedDevices& devices, const ExecutorOptions& options)
      : step_(part),
        devices_(devices),
        options_(options),
        plan_(step_, planned_for(devices, options.plan)),
        rules_(step_, plan_, options.rules),
        memory_(step_.graph, plan_, options.seed, devices_),
        kernel_memories_(step_.graph, plan_, memory_),
        leaving_backward_(gradients_leaving_backward(step_.graph)),
        workers_(plan_, options.cores, options.threads_per_worker),
        latest_losses_(step_.losses.size()),
        queues_(plan_, devices_) {
    ns_per_tick();  // calibrates the clock before it is needed
    for (std::size_t i = 0; i < plan_.lanes().size(); ++i) add_lane(i);
    build_kernels();
    add_probes();
    connect_lanes();
    threads_ = std::make_unique<LaneThreads>(
        lanes_, [this](const Lane& lane, const std::exception_ptr& error) {
          return rules_.end_of_run(lane.plan().loop, error);
        });
  }

  void interrupt(const RunError& error) {
    threads_->end(std::make_exception_ptr(error));
    rules_.end_all();
  }

  void prepare() {
    if (options_.launch == LaunchSteps::ByKernel) return;
    check(options_.trace_events == 0 && options_.stragglers.empty(),
          "steps that are traced or delayed are not launched as one");
    captured_ = capture_loops(step_.graph, lanes_, queues_.the_device());
  }

  void begin_at(const Positions& positions) {
    rules_.begin_at(positions);
    for (const LoopPosition& position : positions.loops) {
      for (const auto& lane : lanes_) {
        const int loop = lane->plan().loop;
        if (rules_.loops().number(loop) != position.number) continue;
        if (position.steps > max_steps(loop)) {
          throw RunError(ErrorKind::Data,
                         "the checkpoint has more steps than this run; fix: give the flags that it "
                         "began with");
        }
        lane->begin_at(position.steps, position.last_examples);
      }
    }
  }

  void run(std::int64_t examples) {
    check(examples <= options_.max_examples, "a run sees no more examples than it was built for");
    check(options_.launch == LaunchSteps::ByKernel || !captured_.empty(),
          "steps that are launched as one are recorded before the first");
    rules_.set_target(examples);
    memory_.expire_mirrors();
    threads_->run();
  }

  void rest() { threads_->rest(); }

  RunState state() const {
    return {.step = step_, .plan = plan_, .rules = rules_, .lanes = lanes_, .losses = losses_};
  }

  const Moment built_ = moment();  ///< before the first step
  Step step_;
  PlacedDevices devices_;
  ExecutorOptions options_;
  Plan plan_;
  StepRules rules_;
  Memory memory_;
  KernelMemories kernel_memories_;
  std::set<Value> leaving_backward_;
  WorkerCores workers_;
  std::set<KernelChoice> choices_;
  std::vector<std::vector<float>> losses_;         // by loss of the step
  std::vector<std::atomic<float>> latest_losses_;  ///< NaN before a loss's first step
  LaneQueues queues_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::unique_ptr<CapturedLoop>> captured_;  ///< by loop; empty without capture

 private:
  /// Communication sleeps at once, because its device's compute lane needs the core.
  Patience patience_of(const LanePlan& plan) const {
    Patience patience{.abort = &rules_.flag(plan.loop), .limit_ns = rules_.wait_limit_ns()};
    if (plan.communication) return patience;
    const bool shares = workers_.oversubscribed();
    (shares ? patience.yields : patience.spins) = shares ? kYields : kSpins;
    return patience;
  }

  void add_lane(std::size_t index) {
    const LanePlan& plan = plan_.lanes()[index];
    const auto straggler = options_.stragglers.find(workers_.worker_of(plan.place));
    const LaneOptions options{
        .rule = rules_.of(plan.loop),
        .slowdown = straggler == options_.stragglers.end() ? 1 : straggler->second,
        .trace_events = options_.trace_events,
        .patience = patience_of(plan),
        .cores = workers_.cores_of(plan.place),
        .threads = workers_.threads_of(plan),
        .queue = queues_.of(index),
        .device = &devices_.device(plan.place),
        .counts = memory_.queued_counts(index)};
    lanes_.push_back(std::make_unique<Lane>(step_.graph, plan, options));
  }

  /// Threads that kernels start, such as those that prepare batches, stay on the run's cores.
  void build_kernels() {
    const PinnedScope pinned(options_.cores);
    const int threads_before = omp_get_max_threads();
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      const LanePlan& plan = lanes_[lane]->plan();
      const int threads = workers_.threads_of(plan);
      omp_set_num_threads(threads);
      if (threads > 1) require_team(threads);
      const Scratch::Scope scratch_of_the_lane;
      for (const Instruction& instruction : plan.instructions) {
        add_kernel(lane, instruction.node, threads);
      }
    }
    omp_set_num_threads(threads_before);
  }

  void add_kernel(std::size_t number, NodeId id, int threads) {
    Lane& lane = *lanes_[number];
    const Node& node = step_.graph.node(id);
    const int loop = lane.plan().loop;
    const KernelMemory& request = kernel_memories_.of(id, loop);
    const Patience patience = patience_of(lane.plan());
    LaneQueue* const carrier = carrier_of(node, number);
    devices_.device(node.place).make_current();  // carrier_of() may have made another current
    auto kernel = devices_.kernels(node.place)
                      .build({.id = id,
                              .node = node,
                              .inputs = request.inputs,
                              .outputs = request.outputs,
                              .variables = request.variables,
                              .versions_seen = request.versions_seen,
                              .threads = threads,
                              .data = options_.data,
                              .seed = options_.seed,
                              .abort = patience.abort,
                              .spins = patience.spins,
                              .yields = patience.yields,
                              .rule = &rules_.of(loop),
                              .queue = lane.queue(),
                              .carrier = carrier,
                              .counts = lane.queued_counts()});
    if (const std::string choice = choice_of(*kernel); !choice.empty()) {
      choices_.insert(
          {.node = std::string(to_string(node.op)) + ' ' + node.layer, .choice = choice});
    }
    if (lane.queue() == nullptr) {  // checking a GPU's memory would mean copying it
      kernel = guarded(std::move(kernel), step_.graph, id, request.outputs, leaving_backward_);
    }
    kernel = rules_.wrap(std::move(kernel), node,
                         {.loop = rules_.loops().number(loop), .patience = patience});
    lane.add_kernel(std::move(kernel), request.evidence);
  }

  LaneQueue* carrier_of(const Node& node, std::size_t lane) {
    if (node.op != Op::Copy) return nullptr;
    return queues_.carrier(lane, memory_.device_of(node.inputs.front()));
  }

  std::int64_t max_steps(int loop) const {
    return options_.max_examples / rules_.loops().examples(loop) + 2;
  }

  void add_probes() {
    for (const Value value : plan_.looked_at()) {
      if (std::find(step_.losses.begin(), step_.losses.end(), value) != step_.losses.end())
        continue;
      lanes_[static_cast<std::size_t>(plan_.lane_of(value.node))]->add_probe(
          {.node = value.node,
           .value = memory_.tensor(value).f32(),
           .made_from = nodes_behind(step_.graph, plan_, value)});
    }
    losses_.resize(step_.losses.size());
    for (std::size_t i = 0; i < step_.losses.size(); ++i) {
      const Value loss = step_.losses[i];
      Lane& lane = *lanes_[static_cast<std::size_t>(plan_.lane_of(loss.node))];
      losses_[i].resize(static_cast<std::size_t>(max_steps(lane.plan().loop)));
      latest_losses_[i] = std::numeric_limits<float>::quiet_NaN();
      lane.add_probe({.node = loss.node,
                      .value = memory_.tensor(loss).f32(),
                      .history = &losses_[i],
                      .latest = &latest_losses_[i],
                      .made_from = nodes_behind(step_.graph, plan_, loss)});
    }
  }

  void connect_lanes() {
    std::vector<Lane*> all;
    for (auto& lane : lanes_) all.push_back(lane.get());
    for (auto& lane : lanes_) {
      std::vector<Lane*> loop;
      for (Lane* other : all) {
        if (other->plan().loop == lane->plan().loop) loop.push_back(other);
      }
      if (leader(loop) == lane.get()) lane->lead(max_steps(lane->plan().loop));
      lane->finish_building(all, loop);
    }
  }

  /// The compute lane of the loop's first worker, or else the loop's first compute lane.
  static Lane* leader(const std::vector<Lane*>& loop) {
    const auto rank = [](const Lane* lane) {
      if (lane->plan().communication) return 2;
      return lane->plan().place.role == Role::Worker ? 0 : 1;
    };
    return *std::min_element(loop.begin(), loop.end(),
                             [&](const Lane* a, const Lane* b) { return rank(a) < rank(b); });
  }

  std::unique_ptr<LaneThreads> threads_;  // last: they use all of the above
};

Executor::Executor(const Step& part, const PlacedDevices& devices, const ExecutorOptions& options)
    : impl_(std::make_unique<Impl>(part, devices, options)) {}
Executor::~Executor() = default;
void Executor::prepare() { impl_->prepare(); }
void Executor::begin_at(const Positions& positions) { impl_->begin_at(positions); }
void Executor::run(std::int64_t examples) { impl_->run(examples); }
void Executor::rest() { impl_->rest(); }
void Executor::interrupt(const RunError& error) { impl_->interrupt(error); }
std::int64_t Executor::examples_seen() const { return impl_->rules_.seen(); }
std::vector<std::string> Executor::lost() const { return impl_->rules_.lost(); }
const Step& Executor::step() const { return impl_->step_; }
HostVariable Executor::variable(VariableId id) { return impl_->memory_.host_variable(id); }
Tensor Executor::variable_on_device(VariableId id) const {
  return impl_->memory_.variable(id).tensor;
}
Device& Executor::device_of(VariableId id) const { return impl_->memory_.device_of(id); }
void Executor::write_variables() { impl_->memory_.write_variables(); }
std::vector<WorkerReport> Executor::workers() const {
  std::vector<WorkerReport> workers = worker_reports(impl_->state());
  const std::map<Place, MemoryUse> planned = impl_->memory_.planned();
  for (WorkerReport& worker : workers) set_memory(planned, worker);
  return workers;
}
std::vector<LoopReport> Executor::loops() const { return loop_reports(impl_->state()); }
const std::set<KernelChoice>& Executor::kernel_choices() const { return impl_->choices_; }
std::int64_t Executor::planned_bytes() const {
  std::int64_t bytes = impl_->queues_.held_bytes();
  for (const auto& [place, planned] : impl_->memory_.planned()) bytes += planned.sum();
  return bytes;
}
std::int64_t Executor::unshared_bytes() const { return impl_->memory_.unshared_bytes(); }

std::span<const float> Executor::loss_history(std::size_t index) const {
  const int lane = impl_->plan_.lane_of(impl_->step_.losses.at(index).node);
  const auto steps = impl_->lanes_[static_cast<std::size_t>(lane)]->steps();
  return std::span(impl_->losses_[index]).first(static_cast<std::size_t>(steps));
}

std::optional<double> Executor::latest_loss() const {
  double sum = 0;
  for (const std::atomic<float>& loss : impl_->latest_losses_) {
    sum += static_cast<double>(loss.load(std::memory_order_relaxed));
  }
  return std::isnan(sum) ? std::nullopt : std::optional(sum);
}

std::int64_t Executor::lost_updates() const {
  std::uint64_t lost = 0;
  for (VariableId id = 0; id < static_cast<VariableId>(step().graph.variables().size()); ++id) {
    const VersionCounts* const counts = impl_->memory_.host_variable(id).counts;
    if (counts != nullptr) lost += counts->version - counts->canary;
  }
  return static_cast<std::int64_t>(lost);
}

std::vector<TraceRow> Executor::trace() const {
  const TickMap clock(impl_->built_, moment());
  std::vector<TraceRow> rows;
  for (const auto& lane : impl_->lanes_) rows.push_back(lane->trace_row(clock));
  return rows;
}

}  // namespace regatta
