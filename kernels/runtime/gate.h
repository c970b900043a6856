// SPDX-License-Identifier: Apache-2.0
//
// Whether a loop runs another step. Its leader lane decides and claims the step's examples from a
// count that all loops share; the loop's other lanes follow the leader's tickets in order.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "kernels/runtime/counter.h"

namespace regatta {

/// Examples claimed by all loops together, and where they stop.
struct ExampleCount {
  std::atomic<std::int64_t> claimed{0};
  std::atomic<std::int64_t> target{0};
};

struct Ticket {
  bool runs = false;
  std::int64_t examples = 0;  ///< claimed by all loops before this step
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
    tickets_[issued_.value() % tickets_.size()] = ticket;
    issued_.advance_to(issued_.value() + 1);
    return ticket;
  }

  /// The `index`-th ticket ever. Threads: any other lane of the loop.
  Ticket follow(std::uint64_t index, const Patience& patience, bool& timed_out) {
    timed_out = !issued_.wait_for(index + 1, patience);
    return tickets_[index % tickets_.size()];
  }

 private:
  // The leader is at most one ticket ahead: before it runs a step it waits for all lanes to have
  // finished the one before.
  std::array<Ticket, 4> tickets_;
  Counter issued_;
};

}  // namespace regatta
