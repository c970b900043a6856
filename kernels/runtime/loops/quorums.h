// SPDX-License-Identifier: Apache-2.0
//
// The quorums in a process's part of the graph, one for each server in this process, and the member
// number of each loop. When a push has reached all servers, the first server decides whether it
// counts. Values in the graph carry the arrivals to the first server and its verdict to the others,
// so a push counts on all servers or on none. Empty if the graph has no quorum.
// Arguments `loop` are indices in the whole graph.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "kernels/graph/graph.h"
#include "kernels/runtime/loops/absence.h"
#include "kernels/runtime/loops/gate.h"
#include "kernels/runtime/loops/process_loops.h"
#include "kernels/runtime/loops/quorum.h"
#include "kernels/runtime/plan.h"

namespace regatta {

/// Whether the node updates a variable of a server with a quorum.
bool is_behind_quorum(const Graph& graph, const Node& node);

/// Returns the options of the quorum at each server in the part.
std::map<int, QuorumOptions> quorums_of(const Step& part);

class Quorums {
 public:
  /// If the deciding server is in this process, the number of applied examples is stored to `count`
  /// after every step. `on_loss` is the effect of losing a loop's worker.
  Quorums(const Step& part, const Plan& plan, const ProcessLoops& loops, OnLoss on_loss,
          ExampleCount& count);

  bool empty() const { return quorums_.empty(); }
  /// Returns the quorum of the server at the place; null if no server is there.
  Quorum* at(const Place& place);
  /// Wraps the kernel by Quorum::behind() if is_behind_quorum(); otherwise returns it unchanged.
  std::unique_ptr<Kernel> behind(const Graph& graph, const Node& node,
                                 std::unique_ptr<Kernel> kernel);

  /// Returns the flag for the loss of the loop's worker; null if losing the worker is an error.
  Absence* absence(int loop);
  /// Returns absence(loop) for the kernel of one of the loop's nodes; null for a message between
  /// servers, which does not involve the worker.
  Absence* absence(const Node& node, int loop);

  /// Calls Quorum::begin_at() for all quorums. Called before the first step.
  void begin_at(std::int64_t steps, std::int64_t examples);

  /// Waits until the loop may begin its next step. Returns the ticket of the step; it does not run
  /// if all examples of the run are applied. Called when the previous step has ended in all lanes
  /// of the loop, because only then is it known whether the last push counted.
  /// Threads: called only by the loop's leader lane.
  Ticket begin(int loop, const ExampleCount& count, const Patience& patience);
  /// Waits until this process has the version that the step of `ticket` reads. Called for tickets
  /// from another process. Threads: called only by the loop's leader lane.
  void await(const Ticket& ticket, const Patience& patience);

  /// Returns how many pushes of the replica that the server place serves were applied, and how many
  /// were dropped; the latter is known only at the deciding server. Not called while lanes run.
  std::pair<std::int64_t, std::int64_t> pushes(const Place& place) const;

  /// Marks the loop's worker as lost. Returns an empty string if the other loops can go on without
  /// it, else the reason why not. Threads: any.
  std::string retire(int loop);

 private:
  OnLoss on_loss_;
  std::map<int, Quorum> quorums_;          ///< keyed by server
  std::map<int, std::int64_t> member_of_;  ///< keyed by loop
  std::map<int, Absence> absences_;        ///< keyed by loop
};

}  // namespace regatta
