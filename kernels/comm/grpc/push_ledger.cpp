// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/grpc/push_ledger.h"

#include <algorithm>
#include <limits>

#include "kernels/runtime/measure/clock.h"

namespace regatta::comm {

std::size_t PushLedger::expect(const Place& worker) {
  const auto found = std::find_if(workers_.begin(), workers_.end(),
                                  [&](const Worker& known) { return known.place == worker; });
  messages_.push_back({.worker = static_cast<std::size_t>(found - workers_.begin())});
  if (found == workers_.end()) workers_.push_back({.place = worker, .late = {}});
  return messages_.size() - 1;
}

/// The thread that notes the last message of a step sees the notes of all others.
void PushLedger::note(std::size_t message, std::uint64_t complete) {
  messages_[message].complete = complete;
  if (noted_.fetch_add(1, std::memory_order_acq_rel) + 1 == messages_.size()) end_step();
}

/// Adds the step's lateness and barrier. A single worker is neither late nor waited for.
void PushLedger::end_step() {
  noted_.store(0, std::memory_order_relaxed);
  ++steps_;
  if (workers_.size() == 1) return;
  for (Worker& worker : workers_) worker.complete = 0;
  for (const Expected& message : messages_) {
    std::uint64_t& complete = workers_[message.worker].complete;
    complete = std::max(complete, message.complete);
  }
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = 0;
  for (const Worker& worker : workers_) {
    first = std::min(first, worker.complete);
    last = std::max(last, worker.complete);
  }
  for (Worker& worker : workers_) worker.late.add(ticks_to_ns(worker.complete - first));
  barrier_.add(ticks_to_ns(last - first));
}

void PushLedger::add_to(ExchangeTimesByPlace& all) const {
  for (const Worker& worker : workers_) {
    ExchangeTimes times;
    times.late = worker.late;
    times.pushes = steps_;
    add(all[worker.place], times);
  }
  ExchangeTimes times;
  times.barrier = barrier_;
  times.pushes = steps_ * static_cast<std::int64_t>(workers_.size());
  add(all[server_], times);
}

}  // namespace regatta::comm
