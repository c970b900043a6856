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

#include "kernels/base/error.h"
#include "kernels/graph/graph.h"
#include "kernels/runtime/chosen_kernel.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/loops/step_rules.h"
#include "kernels/runtime/measure/reports.h"
#include "kernels/runtime/measure/trace.h"
#include "kernels/runtime/memory.h"
#include "kernels/runtime/placed_devices.h"
#include "kernels/runtime/plan.h"

namespace regatta {

/// How steps enter the queues of a device.
enum class LaunchSteps : std::uint8_t {
  ByKernel,  ///< kernel by kernel
  AsOne,     ///< as one launch of a recorded step (captured_loop.h)
};

struct ExecutorOptions {
  std::vector<int> cores;  ///< the cores that the run may use; empty: threads are not pinned
  int threads_per_worker = 1;
  std::uint64_t seed = 1;
  const DataSet* data = nullptr;
  std::int64_t max_examples = 0;     ///< upper bound on the run's examples; sizes the histories
  std::map<int, double> stragglers;  ///< slowdown factor of each straggling worker
  std::size_t trace_events = 0;      ///< capacity of each lane's trace; 0: no trace
  StepRuleOptions rules;
  PlanOptions plan;
  LaunchSteps launch = LaunchSteps::ByKernel;
};

class Executor {
 public:
  /// The devices must outlive the executor; the kernel tables need not.
  /// `part` is this process's part of the partitioned graph.
  /// Throws: RunError(Unsupported) when a device's table has no kernel for a node, or when places
  /// that share a variable are on different devices.
  Executor(const Step& part, const PlacedDevices& devices, const ExecutorOptions& options);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Records each loop's step if ExecutorOptions::launch is AsOne; otherwise does nothing. Called
  /// once, after transports are connected and before the first step.
  /// Throws: RunError(Unsupported, Device), naming the op or the places, when a step cannot be
  /// recorded.
  void prepare();
  /// Sets where the loops start, to resume a run from the positions of an earlier executor of the
  /// same part. Loops that are not listed start with their first step. The caller restores the
  /// variables. Called before the first step.
  void begin_at(const Positions& positions);
  /// Advances until all loops together have seen `examples`, counted from the very first step,
  /// including those before a resumed run.
  /// Throws: RunError of the first lane that failed, naming the step and the tensor or the missing
  /// process.
  void run(std::int64_t examples);
  /// Frees the cores until the next run(): ends the lanes' OpenMP teams, whose idle threads would
  /// otherwise spin for some milliseconds.
  void rest();
  /// Ends the run with `error`: a run() in progress, or else the next one, throws it.
  /// Threads: any.
  void interrupt(const RunError& error);
  std::int64_t examples_seen() const;
  /// Returns one reason for each worker that was lost while the run went on without it. Not called
  /// while run() runs.
  std::vector<std::string> lost() const;

  const Step& step() const;
  /// Returns the variable in host memory, valid until the next run(). Not called while run() runs.
  HostVariable variable(VariableId id);
  /// Returns the variable in the memory of its device.
  Tensor variable_on_device(VariableId id) const;
  Device& device_of(VariableId id) const;
  /// Copies the caller's changes of variable()'s host memory to the devices. Not called while run()
  /// runs.
  void write_variables();

  std::vector<WorkerReport> workers() const;
  std::vector<LoopReport> loops() const;
  /// Returns the sum of the latest values of all losses, to monitor the run; the values may be from
  /// different steps. Empty before the first step. Threads: any.
  std::optional<double> latest_loss() const;
  /// Returns the history of loss `index`; entry k is its value in step k.
  std::span<const float> loss_history(std::size_t index) const;
  /// Estimates how many updates of shared variables were lost to races. Each update also increments
  /// a canary with the same relaxed load and store as an element; lost increments are counted. Not
  /// called while run() runs.
  std::int64_t lost_updates() const;
  /// Returns the choices that kernels made when they were built (chosen_kernel.h).
  const std::set<KernelChoice>& kernel_choices() const;
  /// Returns the bytes of arenas, variables, and other memory held by kernels in queues.
  std::int64_t planned_bytes() const;
  /// Returns the bytes that arenas and variables would take if no two values shared memory.
  std::int64_t unshared_bytes() const;
  /// Returns one trace row for each lane, timed by the steady clock. Not called while run() runs.
  std::vector<TraceRow> trace() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace regatta
