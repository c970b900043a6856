// SPDX-License-Identifier: Apache-2.0
//
// The quorums in a process' part of the graph, one for each server in this process, and the member
// that each loop is. The first server decides when a push has reached all servers; values of the
// graph carry arrivals to it and its verdict to the others, so a push counts on all servers or on
// none. Empty if the graph has no quorum.
// Loop arguments are numbers in the whole graph.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "kernels/graph/graph.h"
#include "kernels/runtime/loops/absence.h"
#include "kernels/runtime/loops/gate.h"
#include "kernels/runtime/loops/loop_failures.h"
#include "kernels/runtime/loops/process_loops.h"
#include "kernels/runtime/loops/quorum.h"
#include "kernels/runtime/plan.h"

namespace regatta {

/// Whether the node updates a variable of a server that takes only the first pushes of a step.
bool is_behind_quorum(const Graph& graph, const Node& node);

class Quorums {
 public:
  /// `count` is updated with the applied examples if the deciding server is in this process.
  /// `on_loss`: the effect of losing a loop's worker.
  Quorums(const Step& part, const Plan& plan, const ProcessLoops& loops, OnLoss on_loss,
          ExampleCount& count);

  bool empty() const { return quorums_.empty(); }
  /// The quorum of the server at the place; null for other places.
  Quorum* at(const Place& place);
  /// Wraps the kernel by Quorum::behind() if the node is an update of a server's variable;
  /// otherwise returns it unchanged.
  std::unique_ptr<Kernel> behind(const Graph& graph, const Node& node,
                                 std::unique_ptr<Kernel> kernel);

  /// The loop's record of a lost worker; null if losing it is an error.
  Absence* absence(int loop);
  /// The same for one of the loop's nodes; also null for a message between servers.
  Absence* absence(const Node& node, int loop);

  /// Starts all quorums as Quorum::begin_at() does. Called before the first step.
  void begin_at(std::int64_t steps, std::int64_t examples);

  /// Waits until the loop may begin its next step and the previous one has ended in all lanes of
  /// the loop. Returns the step's ticket, which does not run if the run's examples are applied.
  /// Threads: the loop's leader lane.
  Ticket begin(int loop, const ExampleCount& count, const Patience& patience);
  /// Waits for the version that the step reads, when another process issued its ticket. Threads:
  /// the loop's leader lane.
  void await(const Ticket& ticket, const Patience& patience);

  /// Pushes of the replica that a server's place serves: applied, and dropped (only at the deciding
  /// server). Not while lanes run.
  std::pair<std::int64_t, std::int64_t> pushes(const Place& place) const;

  /// Marks the loop's worker as lost. Returns why the others cannot go on without it, or an empty
  /// string. Threads: any.
  std::string retire(int loop);

 private:
  OnLoss on_loss_;
  std::map<int, Quorum> quorums_;          ///< by server
  std::map<int, std::int64_t> member_of_;  ///< by loop
  std::map<int, Absence> absences_;        ///< by loop
};

}  // namespace regatta
