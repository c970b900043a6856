// SPDX-License-Identifier: Apache-2.0
//
// Runs a partitioned graph on this process' devices. Everything is built in the constructor:
// memory, kernels, lanes with their threads. run() lets all loops advance until together they have
// seen a number of examples, then stops each at a step boundary.
// Threads: one thread owns the executor and calls it; each lane has a thread of its own.
#pragma once

#include <cstdint>
#include <iosfwd>
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
#include "kernels/runtime/placed_devices.h"
#include "kernels/runtime/plan.h"

namespace regatta {

/// How the steps of a device with queues get into them.
enum class LaunchSteps : std::uint8_t {
  ByKernel,  ///< each kernel in its turn
  AsOne,     ///< all that was recorded before the first step (captured_loop.h)
};

struct ExecutorOptions {
  std::vector<int> cores;  ///< that the run owns; empty: no pinning
  int threads_per_worker = 1;
  std::uint64_t seed = 1;
  const DataSet* data = nullptr;
  std::int64_t max_examples = 0;     ///< of the whole run: sizes the histories
  std::map<int, double> stragglers;  ///< worker to factor on its compute time
  std::size_t trace_events = 0;      ///< kept a lane; 0 is no trace
  OnLoss loss = OnLoss::End;
  TicketPost* tickets = nullptr;  ///< needed where loops span processes; outlives the executor
  PlanOptions plan;
  LaunchSteps launch = LaunchSteps::ByKernel;
};

/// Where a loop stands between two calls of run().
struct LoopPosition {
  int number = 0;  ///< in the whole graph
  std::int64_t steps = 0;
  std::int64_t last_examples = 0;  ///< seen by all loops when its last step began
};

/// Where all loops of a run stand.
struct Positions {
  std::vector<LoopPosition> loops;
  std::int64_t steps = 0;     ///< that loops complete together, where they have a quorum
  std::int64_t examples = 0;  ///< applied in those
};

class Executor {
 public:
  /// Devices outlive the executor, tables of kernels need not.
  /// Throws: RunError(Unsupported) when a device's table has no kernel for a node, or when places
  /// that share a variable are on several devices.
  Executor(const Step& part, const PlacedDevices& devices, const ExecutorOptions& options);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Once, when transports are connected, before the first step: records the steps that are to be
  /// launched as one.
  /// Throws: RunError(Unsupported, Device) where they cannot be, naming the op or the places.
  void prepare();
  /// Stands where another executor of this part has come to; loops that are not named begin with
  /// their first step. Variables are the caller's to set. Before the first step.
  void begin_at(const Positions& positions);
  /// Advances until all loops together have seen `examples`, counted from the first step ever.
  /// Throws: RunError of the first lane that failed, naming step and tensor or who was missing.
  void run(std::int64_t examples);
  /// Ends the run: run() throws this error, at once or when it is called next. Threads: any.
  void interrupt(const RunError& error);
  std::int64_t examples_seen() const;
  /// Why loops ended that the run went on without. Not while run() runs.
  std::vector<std::string> lost() const;

  const Step& step() const;
  /// Memory of a variable. Not while run() runs.
  VariableStorage& variable(VariableId id);
  /// After the caller has read or written variables: their devices have them back, all at once,
  /// before steps need them. Not while run() runs.
  void return_variables();
  /// Memory of a value as the last step left it; only values that live to the end of the step.
  Tensor value(Value value) const;

  std::vector<WorkerReport> workers() const;
  std::vector<LoopReport> loops() const;
  /// The values that loss `index` of the step has had, by step.
  std::span<const float> loss_history(std::size_t index) const;
  /// Updates of shared variables of which another worker's write undid the one element, a canary
  /// beside each variable, that is counted. Not while run() runs.
  std::int64_t lost_updates() const;
  /// What kernels compute by, where that was chosen when they were built.
  const std::set<KernelChoice>& kernel_choices() const;
  std::int64_t planned_bytes() const;   ///< arenas and variables
  std::int64_t unshared_bytes() const;  ///< what they would take without sharing
  void write_trace(std::ostream& out) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace regatta
