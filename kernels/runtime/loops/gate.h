// SPDX-License-Identifier: Apache-2.0
//
// Tickets: decisions whether a loop runs another step. The loop's leader lane claims the step's
// examples from a count that all loops share; the other lanes follow the leader's tickets in order.
// If a graph has several loops, a loop that spans processes is led by one of them, and a TicketPost
// carries its tickets to the other processes. The simulation (kernels/virtual) claims from the same
// counts.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "kernels/runtime/counter.h"

namespace regatta {

/// The leader's decision on the loop's next step.
struct Ticket {
  bool runs = false;          ///< whether the step runs
  bool ends = false;          ///< whether the loop ends for good, because its worker is lost
  std::int64_t examples = 0;  ///< that all loops had claimed before this step
};

/// The number of examples claimed by the loops of one model that this process leads, and the
/// target. All other loops are assumed to advance at the same rate: one step of every loop has
/// `all` examples, `led` of them in the loops counted here.
struct alignas(64) ExampleCount {
  std::atomic<std::int64_t> claimed{0};
  std::atomic<std::int64_t> target{0};
  std::int64_t led = 1;
  std::int64_t all = 1;

  /// Converts examples of the loops counted here to examples of all loops; of_led() converts back.
  std::int64_t of_all(std::int64_t here) const { return led == all ? here : here * all / led; }
  std::int64_t of_led(std::int64_t there) const { return led == all ? there : there * led / all; }

  /// Claims a step of `examples` unless the target is reached. Threads: any.
  Ticket claim(std::int64_t examples) {
    Ticket ticket{.runs = false, .examples = claimed.load(std::memory_order_relaxed)};
    const std::int64_t end = target.load(std::memory_order_relaxed);
    while (ticket.examples < end && !ticket.runs) {
      ticket.runs = claimed.compare_exchange_weak(ticket.examples, ticket.examples + examples,
                                                  std::memory_order_relaxed);
    }
    ticket.examples = of_all(ticket.examples);
    return ticket;
  }
};

/// Carries the tickets of loops that span processes. `loop` is an index in the whole graph.
class TicketPost {
 public:
  TicketPost() = default;
  TicketPost(const TicketPost&) = delete;
  TicketPost& operator=(const TicketPost&) = delete;
  virtual ~TicketPost() = default;
  /// Sends a ticket to all other processes of the loop. Threads: called only by the loop's leader
  /// lane.
  virtual void publish(int loop, const Ticket& ticket) = 0;
  /// Waits for the next ticket of a loop that another process leads. Threads: called by one lane
  /// per loop.
  /// Throws: RunError(Timeout), RunError(PeerLost), Aborted.
  virtual Ticket next(int loop) = 0;
  /// Makes waits in next() for `loop`, which has ended, throw Aborted. Threads: any.
  virtual void abandon(int loop) = 0;
};

class Gate {
 public:
  /// Passes a ticket to the loop's other lanes. Threads: the leader lane, or the lane that receives
  /// tickets from another process.
  void issue(const Ticket& ticket) {
    tickets_[issued_.value() % tickets_.size()] = ticket;
    issued_.advance_to(issued_.value() + 1);
  }

  /// Waits for the ticket that was issued as number `index`, from 0, and returns it. Sets
  /// `timed_out` if that takes longer than `patience.limit_ns`. Threads: called by the other lanes
  /// of the loop.
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
