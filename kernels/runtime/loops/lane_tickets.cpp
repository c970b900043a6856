// SPDX-License-Identifier: Apache-2.0
//
// How a lane gets its next step: it follows its loop's leader. The leader makes the ticket, or
// receives it from the process that leads the loop; it also waits for slower loops and for a
// quorum, if there is one.
#include "kernels/base/error.h"
#include "kernels/runtime/lane.h"
#include "kernels/runtime/loops/absence.h"

namespace regatta {

Ticket Lane::next_ticket() {
  if (options_.patience.abort->raised.load(std::memory_order_relaxed)) throw Aborted();
  if (leadership_) return lead_ticket();
  bool timed_out = false;
  const Ticket ticket = gate_->follow(tickets_++, options_.patience, timed_out);
  if (timed_out) {
    throw RunError(ErrorKind::Timeout, "step " + std::to_string(step_) + ": " + name() +
                                           " waited in vain for its loop's leader to begin");
  }
  return ticket;
}

Ticket Lane::lead_ticket() {
  const Leadership& loop = *leadership_;
  if (loop.bound != nullptr) {
    wait_for_loop();  // then all of the loop's updates are applied
    loop.bound->finish(static_cast<std::size_t>(loop.loop), step_);
  }
  if (loop.hears != nullptr) return hear_ticket();
  if (loop.bound != nullptr) await_turn();
  if (loop.claims != nullptr) loop.claims->take(options_.patience);
  const Ticket ticket = loop.quorums == nullptr ? loop.count.claim(loop.examples) : begin_step();
  gate_->issue(ticket);
  if (loop.claims != nullptr) loop.claims->pass();
  if (loop.sends != nullptr) publish(ticket);
  return ticket;
}

/// Begins a step of a loop with a quorum. If the worker is lost, the other servers receive the end;
/// otherwise they would wait for a verdict.
Ticket Lane::begin_step() {
  const Leadership& loop = *leadership_;
  wait_for_loop();  // only then is it known whether its push counts
  if (loop.absence != nullptr && loop.absence->noted()) {
    if (loop.sends != nullptr) publish({.ends = true});
    throw RunError(ErrorKind::PeerLost, loop.absence->reason());
  }
  return loop.quorums->begin(loop.loop, loop.count, options_.patience);
}

/// Sends the ticket; servers receive it even if the worker is out of reach, as they come first.
void Lane::publish(const Ticket& ticket) {
  Absence* const absence = leadership_->absence;
  try {
    leadership_->sends->publish(leadership_->loop, ticket);
  } catch (const RunError& error) {
    if (absence == nullptr || error.kind() != ErrorKind::PeerLost) throw;
    absence->note(error.what());
  }
}

void Lane::await_turn() {
  const Leadership& loop = *leadership_;
  loop.bound->await_turn(static_cast<std::size_t>(loop.loop), loop.count, options_.patience);
}

Ticket Lane::hear_ticket() {
  const Leadership& loop = *leadership_;
  const Ticket ticket = loop.hears->next(loop.loop);
  if (ticket.ends) {
    wait_for_loop();
    throw RunError(ErrorKind::PeerLost, "the first server goes on without this loop's worker");
  }
  if (loop.bound != nullptr && ticket.runs) await_turn();
  if (loop.quorums != nullptr) loop.quorums->await(ticket, options_.patience);
  gate_->issue(ticket);
  return ticket;
}

}  // namespace regatta
