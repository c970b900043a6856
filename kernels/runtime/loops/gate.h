// SPDX-License-Identifier: Apache-2.0
//
// Decides whether a loop runs another step. The loop's leader lane decides and claims the step's
// examples from a count that all loops share; the other lanes follow the leader's tickets in order.
// Where a graph has several loops and one of them spans processes, one process leads it, and a
// TicketPost carries its tickets to the others.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "kernels/runtime/counter.h"

namespace regatta {

/// Examples claimed by the loops of one model that this process leads, and the target. All other
/// loops are assumed to advance equally: of the `all` examples in one step of every loop, the loops
/// counted here have `led`.
struct alignas(64) ExampleCount {
  std::atomic<std::int64_t> claimed{0};
  std::atomic<std::int64_t> target{0};
  std::int64_t led = 1;
  std::int64_t all = 1;

  /// Converts between examples of the loops counted here and examples of all loops.
  std::int64_t of_all(std::int64_t here) const { return led == all ? here : here * all / led; }
  std::int64_t of_led(std::int64_t there) const { return led == all ? there : there * led / all; }
};

struct Ticket {
  bool runs = false;
  bool ends = false;          ///< the loop ends for good, because its worker is lost
  std::int64_t examples = 0;  ///< claimed by all loops before this step
};

/// Carries the tickets of loops that span processes. Loops are numbered as in the whole graph.
class TicketPost {
 public:
  TicketPost() = default;
  TicketPost(const TicketPost&) = delete;
  TicketPost& operator=(const TicketPost&) = delete;
  virtual ~TicketPost() = default;
  /// Sends a ticket to all other processes of the loop. Threads: the loop's leader lane.
  virtual void publish(int loop, const Ticket& ticket) = 0;
  /// The next ticket of a loop that another process leads. Threads: one lane for each loop.
  /// Throws: RunError(Timeout), RunError(PeerLost), Aborted.
  virtual Ticket next(int loop) = 0;
  /// Ends the waits of a loop that has ended, by Aborted. Threads: any.
  virtual void abandon(int loop) = 0;
};

class Gate {
 public:
  /// Claims `examples` unless the target is reached. Threads: the leader lane.
  Ticket lead(ExampleCount& count, std::int64_t examples) {
    Ticket ticket{.runs = false, .examples = count.claimed.load(std::memory_order_relaxed)};
    const std::int64_t target = count.target.load(std::memory_order_relaxed);
    while (ticket.examples < target && !ticket.runs) {
      ticket.runs = count.claimed.compare_exchange_weak(ticket.examples, ticket.examples + examples,
                                                        std::memory_order_relaxed);
    }
    ticket.examples = count.of_all(ticket.examples);
    issue(ticket);
    return ticket;
  }

  /// Passes a ticket to the loop's other lanes. Threads: the leader lane, or the lane that receives
  /// tickets from another process.
  void issue(const Ticket& ticket) {
    tickets_[issued_.value() % tickets_.size()] = ticket;
    issued_.advance_to(issued_.value() + 1);
  }

  /// Returns the `index`-th ticket ever. Threads: any other lane of the loop.
  Ticket follow(std::uint64_t index, const Patience& patience, bool& timed_out) {
    timed_out = !issued_.wait_for(index + 1, patience);
    return tickets_[index % tickets_.size()];
  }

 private:
  // The leader is at most one ticket ahead: before it runs a step, it waits until all lanes have
  // finished the previous one.
  std::array<Ticket, 4> tickets_;
  Counter issued_;
};

}  // namespace regatta
