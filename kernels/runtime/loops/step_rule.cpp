// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/loops/step_rule.h"

#include "kernels/base/error.h"

namespace regatta {

Ticket StepRule::lead(std::int64_t steps, const Patience& patience) {
  if (parts_.bound != nullptr) {
    parts_.bound->finish(static_cast<std::size_t>(parts_.loop), steps);
  }
  return parts_.receives == nullptr ? claim(patience) : receive(patience);
}

Ticket StepRule::claim(const Patience& patience) {
  if (parts_.bound != nullptr) await_turn(patience);
  if (parts_.claims != nullptr) parts_.claims->take(patience);
  const Ticket ticket = next(patience);
  if (!ticket.ends) gate_.issue(ticket);
  if (parts_.claims != nullptr) parts_.claims->pass();
  if (parts_.sends != nullptr) publish(ticket);
  return ticket;
}

/// Returns the next ticket. If the worker is lost, the ticket ends the loop, also at the other
/// servers, which would otherwise wait for a verdict.
Ticket StepRule::next(const Patience& patience) {
  if (parts_.quorums.empty()) return parts_.count.claim(parts_.examples);
  if (absence_ != nullptr && absence_->noted()) return {.ends = true};
  return parts_.quorums.begin(parts_.loop, parts_.count, patience);
}

Ticket StepRule::receive(const Patience& patience) {
  const Ticket ticket = parts_.receives->next(parts_.loop);
  if (ticket.ends) return ticket;
  if (parts_.bound != nullptr && ticket.runs) await_turn(patience);
  parts_.quorums.await(ticket, patience);
  gate_.issue(ticket);
  return ticket;
}

/// Sends the ticket; servers receive it even if the worker is out of reach, as they come first.
void StepRule::publish(const Ticket& ticket) const {
  try {
    parts_.sends->publish(parts_.loop, ticket);
  } catch (const RunError& error) {
    if (absence_ == nullptr || error.kind() != ErrorKind::PeerLost) throw;
    absence_->note(error.what());
  }
}

std::string StepRule::why_it_ends() const {
  return parts_.receives == nullptr ? absence_->reason()
                                    : "the first server goes on without this loop's worker";
}

}  // namespace regatta
