// SPDX-License-Identifier: Apache-2.0
//
// The interface through which a race trains, in this process or in others. A trainer trains up to a
// number of examples and stops at a step boundary; then its variables and measurements can be read.
// Threads: used from one thread, except examples_seen(), latest_loss() and interrupt().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/plan/layout.h"
#include "harness/system/process.h"
#include "kernels/base/error.h"
#include "kernels/comm/exchange_times.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/graph.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/executor.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/measure/trace.h"

namespace regatta::run {

/// A variable at one place after the last step. `tensor` refers to memory of the trainer.
struct VariableCopy {
  Variable variable;
  Tensor tensor;
  std::uint64_t version = 0;  ///< number of updates, if loops share the variable
  int model = 0;              ///< the model it belongs to (kernels/distribute/loops.h)
};

/// A variable at one place, in the memory of its device.
struct VariableOnDevice {
  Variable variable;
  Tensor tensor;
  const Device* device = nullptr;
  int model = 0;
};

/// The copies of variables to fetch. Copies from other processes cost time.
enum class Copies : std::uint8_t {
  ForEvaluation,  ///< each model's copies that are evaluated (Judged in kernels/graph/variable.h)
  All,
};

/// One loop's history. Entry k of each vector is for step k.
struct LoopHistory {
  int number = 0;             ///< number of the loop in the whole graph
  double share_of_batch = 1;  ///< examples in a step of this loop / global batch
  std::vector<std::int64_t> step_ns;
  std::vector<float> losses;           ///< the loop's share of the loss
  std::vector<std::int64_t> examples;  ///< seen by all loops together when the step began
};

inline int key_of(const LoopHistory& loop) { return loop.number; }

/// Lists the fields and how to merge them: losses of several processes are added, and step times
/// are those of the slowest process.
template <FieldsOf<LoopHistory> T, typename Field>
void for_each_field(T& loop, Field&& field) {
  field("number", loop.number, Merging<KeepOwn>());
  field("share_of_batch", loop.share_of_batch, Merging<KeepOwn>());
  field("step_ns", loop.step_ns, Merging<KeepLargest, Prepend>());
  field("losses", loop.losses, Merging<AddUp, Prepend>());
  field("examples", loop.examples, Merging<KeepLargest, Prepend>());
}

/// The time that one worker spent on each kind of work, and the rank of its process.
struct RankedWorker {
  std::int64_t rank = 0;
  WorkerReport report;
};

inline const Place& key_of(const RankedWorker& worker) { return worker.report.place; }

template <FieldsOf<RankedWorker> T, typename Field>
void for_each_field(T& worker, Field&& field) {
  field("rank", worker.rank, Merging<KeepOwn>());
  field("report", worker.report, Merging<AddUp>());
}

/// All measurements since the start of the trainer.
struct TrainingReport {
  std::vector<RankedWorker> workers;
  std::vector<LoopHistory> loops;
  TrafficByPlace traffic;                           ///< counted at the transports
  comm::ExchangeTimesByPlace exchange_times;        ///< measured at the transports
  std::map<std::int64_t, comm::ClockFacts> clocks;  ///< by rank; empty if no clocks were compared
  std::set<KernelChoice> kernels;                   ///< choices of the kernels of all processes
  std::int64_t lost_updates = 0;
  std::vector<std::string> lost_processes;  ///< processes lost while training went on, with reasons
  std::int64_t planned_bytes = 0;           ///< sum over all processes
  std::int64_t peak_rss_bytes = 0;          ///< sum over all processes, this one included
};

template <FieldsOf<TrainingReport> T, typename Field>
void for_each_field(T& report, Field&& field) {
  field("workers", report.workers, Merging<AddUp>());
  field("loops", report.loops, Merging<AddUp>());
  field("traffic", report.traffic, Merging<AddUp>());
  field("exchange_times", report.exchange_times, Merging<AddUp>());
  field("clocks", report.clocks, Merging<Unite, KeepOwn>());
  field("kernels", report.kernels, Merging<Unite, KeepOwn>());
  field("lost_updates", report.lost_updates, Merging<AddUp>());
  field("lost_processes", report.lost_processes, Merging<KeepOwn>());
  field("planned_bytes", report.planned_bytes, Merging<AddUp, KeepOwn>());
  field("peak_rss_bytes", report.peak_rss_bytes, Merging<AddUp, KeepOwn>());
}

class Trainer {
 public:
  Trainer() = default;
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;
  virtual ~Trainer() = default;

  /// Returns the workers, cores and GPUs of each host of the ranks; empty if training takes place
  /// in this process.
  virtual std::vector<plan::HostCores> hosts() const { return {}; }
  /// Returns the name of the host on which a rank runs.
  virtual std::string host_of(std::int64_t) const { return system::host_name(); }

  /// Trains until all loops together have seen `examples` examples, counted from the first step of
  /// the original run if it was resumed. Throws: RunError of the first failure.
  virtual void advance_to(std::int64_t examples) = 0;
  virtual std::int64_t examples_seen() const = 0;
  /// The sum of the latest values of the step's losses, which may be from different steps if loops
  /// are asynchronous. Empty before the first step.
  virtual std::optional<double> latest_loss() const = 0;

  /// Copies variables to host memory. Copies of one variable are in the order of their places. They
  /// are valid until the next call or until training continues. Throws: RunError(PeerLost).
  virtual std::vector<VariableCopy> variables(Copies which) = 0;

  /// The variables to evaluate, in device memory; empty unless all are on devices with queues.
  virtual std::vector<VariableOnDevice> variables_on_devices() { return {}; }

  /// Makes advance_to() throw this error soon, even if nothing else ends it. Threads: any.
  virtual void interrupt(const RunError&) {}

  /// Checks that the run can still go on. Called during long computations between two calls of
  /// advance_to(). Throws: like advance_to().
  virtual void look() {}

  /// Continues from the state of another trainer of the same graph: `variables` are those that its
  /// variables(Copies::All) returned. Called before advance_to().
  virtual void begin_at(const std::vector<VariableCopy>& variables, const Positions& positions) = 0;

  /// Returns this trainer's measurements, without those from before the checkpoint that it resumed
  /// from. After a failure, returns those known by then.
  virtual TrainingReport report() = 0;
  /// The timelines of all processes on one clock, ordered by rank. After a failure, only the
  /// timelines of processes that still answer.
  virtual std::vector<ProcessTrace> traces() = 0;
};

}  // namespace regatta::run
