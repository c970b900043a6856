// SPDX-License-Identifier: Apache-2.0
//
// Measures how late the members of a collective in one process arrive, and how long they wait. Each
// member writes its arrival time to a board that all members read, because the cores of a host
// share a clock; mpi_arrivals.h does this across processes. The board holds two rounds: a round
// does not end for any member before all have arrived, so no member is two rounds ahead of one that
// still reads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/comm/exchange_times.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::comm {

class ArrivalBoard {
 public:
  explicit ArrivalBoard(std::int64_t members)
      : members_(static_cast<std::size_t>(members)), stamps_(2 * members_) {}

  /// Notes that the member arrived at `now`, in ticks. Called only from the member's lane.
  void arrive(std::int64_t member, std::uint64_t round, std::uint64_t now) {
    stamps_[round % 2 * members_ + static_cast<std::size_t>(member)].store(
        now, std::memory_order_relaxed);
  }
  /// Returns the time from the first arrival to the member's, in ticks. Called from the member's
  /// lane when the collective has ended for it.
  std::uint64_t lateness(std::int64_t member, std::uint64_t round) const {
    const std::span<const Stamp> stamps =
        std::span(stamps_).subspan(round % 2 * members_, members_);
    const std::uint64_t own =
        stamps[static_cast<std::size_t>(member)].load(std::memory_order_relaxed);
    std::uint64_t first = own;
    for (const Stamp& stamp : stamps) {
      first = std::min(first, stamp.load(std::memory_order_relaxed));
    }
    return own - first;
  }

 private:
  using Stamp = std::atomic<std::uint64_t>;

  std::size_t members_;
  std::vector<Stamp> stamps_;
};

/// Records how long one member waited in a collective and, with a board, how late it arrived.
class CollectiveTimes {
 public:
  /// Records only waits, because the members are in several processes or do not note arrivals.
  explicit CollectiveTimes(ExchangeTimes& times) : times_(times) {}
  CollectiveTimes(ExchangeTimes& times, ArrivalBoard& board, std::int64_t member)
      : times_(times), board_(&board), member_(member) {}

  /// arrive() is called before the exchange, leave() after it. Threads: called only by the member's
  /// lane.
  void arrive(const LaneCounters& counters) {
    const std::uint64_t now = ticks();
    if (board_ != nullptr) board_->arrive(member_, round_, now);
    waited_ = counters.peer_waits.until(now);
  }
  void leave(const LaneCounters& counters) {
    const std::uint64_t waited = counters.peer_waits.until(ticks()) - waited_;
    times_.wait.add(ticks_to_ns(waited));
    if (board_ != nullptr) times_.late.add(ticks_to_ns(board_->lateness(member_, round_)));
    ++round_;
  }

 private:
  ExchangeTimes& times_;
  ArrivalBoard* board_ = nullptr;
  std::int64_t member_ = 0;
  std::uint64_t round_ = 0;
  std::uint64_t waited_ = 0;
};

}  // namespace regatta::comm
