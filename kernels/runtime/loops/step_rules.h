// SPDX-License-Identifier: Apache-2.0
//
// The rules of all loops in a process's part of the graph: the objects that the rules share, the
// progress of the loops, and which loops end when a lane fails. The loss of a worker ends the
// worker's loop and, unless the run may go on without that worker, the whole run. Every other error
// ends the run. Arguments `loop` are indices within the part.
// Threads: any for seen() and end_of_run(); for the rest, one thread while no lane runs.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kernels/runtime/loops/process_loops.h"
#include "kernels/runtime/loops/step_rule.h"

namespace regatta {

/// The progress of a loop between two calls of Executor::run().
struct LoopPosition {
  int number = 0;  ///< index of the loop in the whole graph
  std::int64_t steps = 0;
  std::int64_t last_examples = 0;  ///< examples that all loops had seen when its last step began
};

/// The progress of all loops of a run.
struct Positions {
  std::vector<LoopPosition> loops;
  std::int64_t steps = 0;     ///< only with a quorum: steps that the loops completed together
  std::int64_t examples = 0;  ///< only with a quorum: examples applied in those steps
};

struct StepRuleOptions {
  OnLoss loss = OnLoss::End;
  TicketPost* tickets = nullptr;  ///< needed if loops span processes; outlives the rules
  AccessOrder* order = nullptr;   ///< null: none is prescribed; outlives the rules
};

class StepRules {
 public:
  /// `part` and `plan` must outlive this object.
  StepRules(const Step& part, const Plan& plan, const StepRuleOptions& options);

  const ProcessLoops& loops() const { return loops_; }
  const Quorums& quorums() const { return quorums_; }
  StepRule& of(int loop) { return rules_[static_cast<std::size_t>(loop)]; }
  /// Returns the longest time that a loop may wait. Units: ns.
  std::int64_t wait_limit_ns() const;
  /// Wraps the kernel of a loop's node so that it runs in the node's steps only, in its turn, and
  /// behind the quorum of the node's server.
  std::unique_ptr<Kernel> wrap(std::unique_ptr<Kernel> kernel, const Node& node,
                               const AccessOrder::Turns& turns);

  /// Resumes from the positions of an earlier run. Called before the first step.
  void begin_at(const Positions& positions);
  /// Lets the loops advance until all of them together have seen `examples`.
  void set_target(std::int64_t examples);
  /// Returns the examples that all loops together have seen.
  std::int64_t seen() const;

  /// Returns the flag that is raised when the loop must end.
  const AbortFlag& flag(int loop) const { return flags_[static_cast<std::size_t>(loop)]; }
  /// Ends `loop`, in which a lane failed with `error`. Returns null if the run goes on without the
  /// loop; otherwise ends all loops and returns the error that the run ends with.
  std::exception_ptr end_of_run(int loop, const std::exception_ptr& error);
  void end_all();
  /// Returns one reason for each worker that was lost.
  const std::vector<std::string>& lost() const { return lost_; }

 private:
  void end(int loop);
  std::string retire(int loop);

  const Graph& graph_;
  StepRuleOptions options_;
  ProcessLoops loops_;
  std::vector<ExampleCount> counts_;  ///< by model, each of which gets the same number of steps
  std::int64_t led_ = 0;              ///< part of all_: examples of the loops led here
  std::int64_t all_ = 0;              ///< examples of one step of every loop
  Quorums quorums_;
  std::optional<StalenessBound> bound_;
  std::deque<StepRule> rules_;   ///< by loop
  std::deque<AbortFlag> flags_;  ///< by loop
  std::mutex mutex_;
  std::vector<int> retired_;
  std::vector<std::string> lost_;
};

}  // namespace regatta
