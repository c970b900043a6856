// SPDX-License-Identifier: Apache-2.0
//
// Paces the polls for an event that no Counter signals. A wait first spins and yields, as in
// counter.h; then it sleeps for a fixed time (a nap) between polls, because no other thread would
// wake it. Polls take time from computing threads, so naps grow during a long wait.
#pragma once

#include <cstdint>

#include "kernels/runtime/counter.h"

namespace regatta::comm {

class Backoff {
 public:
  explicit Backoff(const Patience& patience, std::int64_t longest_nap_ns = kLongestNapNs)
      : patience_(patience), longest_nap_ns_(longest_nap_ns) {}

  /// Resets the naps after an event, before a new wait.
  void reset() {
    looks_ = 0;
    nap_ns_ = kFirstNapNs;
  }

  /// Spins, yields or naps once; called between two polls. Returns false if the whole wait has
  /// taken longer than `patience.limit_ns`. Throws: Aborted.
  bool wait();

  /// How long a wait yields between polls before it naps: about the time that a chunk takes.
  static constexpr std::int64_t kYieldNs = 100'000;
  static constexpr std::int64_t kFirstNapNs = 10'000;
  static constexpr std::int64_t kLongestNapNs = 100'000;
  /// The suggested `longest_nap_ns` for waits that may be long. A nap above kLongestNapNs is at
  /// most 1 / kNapsAWait of the wait so far. On a core where another thread computes, a poll costs
  /// that thread about 5 us, context switch included.
  static constexpr std::int64_t kLongestNapOfLongWaitNs = 1'000'000;
  static constexpr std::int64_t kNapsAWait = 32;

 private:
  const Patience& patience_;
  std::int64_t longest_nap_ns_;
  int looks_ = 0;
  std::int64_t nap_ns_ = kFirstNapNs;
  std::int64_t began_ = 0;  ///< when spinning ended
};

}  // namespace regatta::comm
