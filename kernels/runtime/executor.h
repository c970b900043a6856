// SPDX-License-Identifier: Apache-2.0
//
// Runs a partitioned graph on this process' devices. The constructor builds everything: memory,
// kernels, lanes with their threads. run() lets all loops advance until together they have seen a
// number of examples, then stops each at a step boundary.
// Threads: one thread owns the executor and calls it; each lane has a thread of its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kernels/graph/error.h"
#include "kernels/graph/graph.h"
#include "kernels/runtime/chosen_kernel.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/loops/gate.h"
#include "kernels/runtime/loops/loop_failures.h"
#include "kernels/runtime/measure/reports.h"
#include "kernels/runtime/measure/trace.h"
#include "kernels/runtime/memory.h"
#include "kernels/runtime/placed_devices.h"
#include "kernels/runtime/plan.h"

namespace regatta {

class AccessOrder;

/// How steps enter the queues of a device.
enum class LaunchSteps : std::uint8_t {
  ByKernel,  ///< kernel by kernel
  AsOne,     ///< as a step recorded before the first one (captured_loop.h)
};

struct ExecutorOptions {
  std::vector<int> cores;  ///< of the run; empty: no pinning
  int threads_per_worker = 1;
  std::uint64_t seed = 1;
  const DataSet* data = nullptr;
  std::int64_t max_examples = 0;     ///< of the whole run: sizes the histories
  std::map<int, double> stragglers;  ///< factor on compute time, by worker
  std::size_t trace_events = 0;      ///< capacity for each lane; 0: no trace
  OnLoss loss = OnLoss::End;
  TicketPost* tickets = nullptr;  ///< needed where loops span processes; outlives the executor
  AccessOrder* order = nullptr;   ///< of the loops' accesses; null: none; outlives the executor
  PlanOptions plan;
  LaunchSteps launch = LaunchSteps::ByKernel;
};

/// The progress of a loop between two calls of run().
struct LoopPosition {
  int number = 0;  ///< in the whole graph
  std::int64_t steps = 0;
  std::int64_t last_examples = 0;  ///< seen by all loops when its last step began
};

/// The progress of all loops of a run.
struct Positions {
  std::vector<LoopPosition> loops;
  std::int64_t steps = 0;     ///< with a quorum: steps that the loops completed together
  std::int64_t examples = 0;  ///< with a quorum: applied in those steps
};

class Executor {
 public:
  /// The devices must outlive the executor; the kernel tables need not.
  /// Throws: RunError(Unsupported) when a device's table has no kernel for a node, or when places
  /// that share a variable are on several devices.
  Executor(const Step& part, const PlacedDevices& devices, const ExecutorOptions& options);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Records the steps that are launched as one. Called once, after transports are connected and
  /// before the first step.
  /// Throws: RunError(Unsupported, Device), naming the op or the places, when a step cannot be
  /// recorded.
  void prepare();
  /// Continues from the positions of another executor of this part; loops that are not listed begin
  /// with their first step. The caller sets the variables. Called before the first step.
  void begin_at(const Positions& positions);
  /// Advances until all loops together have seen `examples`, counted from the first step ever.
  /// Throws: RunError of the first lane that failed, naming the step and the tensor or the missing
  /// process.
  void run(std::int64_t examples);
  /// Frees the cores until the next run(): ends the teams of the lanes' threads, which would spin
  /// for some milliseconds.
  void rest();
  /// Ends the run: run() throws this error, at once or when it is called next.
  /// Threads: any.
  void interrupt(const RunError& error);
  std::int64_t examples_seen() const;
  /// The reasons why workers were lost, if the run went on without them. Not while run() runs.
  std::vector<std::string> lost() const;

  const Step& step() const;
  /// A variable in host memory, valid until the next run(). Not while run() runs.
  HostVariable variable(VariableId id);
  /// A variable in the memory of its device.
  Tensor variable_on_device(VariableId id) const;
  Device& device_of(VariableId id) const;
  /// Copies the caller's changes of host variables to the devices. Not while run() runs.
  void write_variables();

  std::vector<WorkerReport> workers() const;
  std::vector<LoopReport> loops() const;
  /// Sum of each loss's latest value, to monitor the run: their steps may differ. Empty before the
  /// first step. Threads: any.
  std::optional<double> latest_loss() const;
  /// Values of loss `index` by step.
  std::span<const float> loss_history(std::size_t index) const;
  /// An estimate of lost updates of shared variables: each update also increments a canary beside
  /// the variable, like one more relaxed element, and lost increments are counted. Not while run()
  /// runs.
  std::int64_t lost_updates() const;
  /// The choices that kernels made when they were built.
  const std::set<KernelChoice>& kernel_choices() const;
  /// Bytes of arenas and variables, and of memory that kernels in queues hold outside them.
  std::int64_t planned_bytes() const;
  /// Bytes that arenas and variables would take if values shared no memory.
  std::int64_t unshared_bytes() const;
  /// The trace rows of all lanes, timed by the steady clock. Not while run() runs.
  std::vector<TraceRow> trace() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace regatta
