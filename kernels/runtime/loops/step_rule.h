// SPDX-License-Identifier: Apache-2.0
//
// Decides when a loop may begin a step in this process, and which steps it runs. A rule is made of
// parts, and each part decides one thing:
//   free       ExampleCount        claims the step's examples while the run has any left
//   bounded    StalenessBound      waits until the slowest loop is near enough
//   quorum     Quorums             waits until the worker's last push is applied or dropped
//   ordered    AccessOrder::Seat   waits for the claim's turn in the order of virtual time
//   ticketed   TicketPost          passes the decision to the loop's other processes
// The simulation (kernels/virtual) calls the same parts but the last one.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/runtime/loops/access_order.h"
#include "kernels/runtime/loops/gate.h"
#include "kernels/runtime/loops/quorums.h"
#include "kernels/runtime/loops/staleness_bound.h"

namespace regatta {

class StepRule {
 public:
  /// Parts that are null do not affect the loop's steps.
  struct Parts {
    ExampleCount& count;
    Quorums& quorums;           ///< may be empty
    std::int64_t examples = 0;  ///< in one step of the loop
    int loop = 0;               ///< index of the loop in the whole graph
    StalenessBound* bound = nullptr;
    AccessOrder::Seat* claims = nullptr;
    TicketPost* sends = nullptr;     ///< sends tickets to the loop's other processes
    TicketPost* receives = nullptr;  ///< receives tickets from the process that leads the loop
  };
  explicit StepRule(const Parts& parts)
      : parts_(parts), absence_(parts.quorums.absence(parts.loop)) {}

  /// Whether lead() is called only when the loop's last step has ended in all lanes of the process.
  bool follows_end() const {
    return parts_.bound != nullptr || (!parts_.quorums.empty() && parts_.receives == nullptr);
  }
  /// Whether lead() waits for other loops or processes.
  bool waits_for_others() const { return follows_end() || parts_.receives != nullptr; }

  /// Waits until the loop, which has finished `steps` steps, may begin the next, and passes the
  /// ticket to its other lanes and processes. A ticket that ends the loop is not passed to lanes.
  /// Threads: the loop's leader lane. Throws: Aborted, RunError.
  Ticket lead(std::int64_t steps, const Patience& patience);
  /// Returns ticket `index` of lead(). Threads and `timed_out`: as in Gate::follow().
  Ticket follow(std::uint64_t index, const Patience& patience, bool& timed_out) {
    return gate_.follow(index, patience, timed_out);
  }
  /// Returns the reason for a ticket that ends the loop.
  std::string why_it_ends() const;

  /// For kernels of the loop's nodes: the quorum of the node's server, null if the server has none,
  /// and the flag for the loss of the loop's worker, null if losing the worker is an error.
  Quorum* quorum(const Node& node) const { return parts_.quorums.at(node.place); }
  Absence* absence(const Node& node) const { return parts_.quorums.absence(node, parts_.loop); }

 private:
  Ticket claim(const Patience& patience);
  Ticket next(const Patience& patience);
  Ticket receive(const Patience& patience);
  void await_turn(const Patience& patience) const {
    parts_.bound->await_turn(static_cast<std::size_t>(parts_.loop), parts_.count, patience);
  }
  void publish(const Ticket& ticket) const;

  Parts parts_;
  Absence* absence_;
  Gate gate_;
};

}  // namespace regatta
