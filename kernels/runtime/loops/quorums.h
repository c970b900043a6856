// SPDX-License-Identifier: Apache-2.0
//
// The quorums of a part of a graph: one for each server that this process holds, and which member
// of them each loop is. The first server decides when a push has come to all; the others tell it so
// and are told the verdict by values of the graph, so that a push counts on all servers or on none.
// Empty where the graph has no quorum.
// Loops are numbered as in the whole graph.
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

class Quorums {
 public:
  /// `count` is told of the examples that are applied, where the deciding server is here.
  /// `on_loss`: what the loss of a loop's worker does.
  Quorums(const Step& part, const Plan& plan, const ProcessLoops& loops, OnLoss on_loss,
          ExampleCount& count);

  bool empty() const { return quorums_.empty(); }
  /// Of the server that stands there; null for other places.
  Quorum* at(const Place& place);
  /// The kernel as it runs behind a quorum, where the node is an update there.
  std::unique_ptr<Kernel> behind(const Graph& graph, const Node& node,
                                 std::unique_ptr<Kernel> kernel);

  /// Where it is noted that the loop's worker is lost; null where that is an error.
  Absence* absence(int loop);
  /// The same for one of the loop's nodes; null for a message between servers, too.
  Absence* absence(const Node& node, int loop);

  /// As if so many steps had applied so many examples, with no push since. Before the first
  /// step.
  void begin_at(std::int64_t steps, std::int64_t examples);

  /// The loop's next step, once it may begin and the last one has ended in all lanes of the loop;
  /// none when the examples of the run have been applied. Threads: the loop's leader lane.
  Ticket begin(int loop, const ExampleCount& count, const Patience& patience);
  /// The loop's next step began elsewhere: waits for what it is to read. Threads: the loop's leader
  /// lane.
  void await(const Ticket& ticket, const Patience& patience);

  /// Of the replica that a server's place serves: applied, and dropped where the server decides.
  /// Not while lanes run.
  std::pair<std::int64_t, std::int64_t> pushes(const Place& place) const;

  /// The loop's worker is lost. Returns why the others cannot go on without it, or nothing.
  /// Threads: any.
  std::string retire(int loop);

 private:
  OnLoss on_loss_;
  std::map<int, Quorum> quorums_;          ///< by server
  std::map<int, std::int64_t> member_of_;  ///< by loop
  std::map<int, Absence> absences_;        ///< by loop
};

}  // namespace regatta
