// SPDX-License-Identifier: Apache-2.0
//
// Polls for an event that no counter signals. It spins and yields as counter.h does, then naps
// between polls, because nothing would wake it from a sleep. Polls take time from computing
// threads, so naps grow during a long wait.
#pragma once

#include <cstdint>

#include "kernels/runtime/counter.h"

namespace regatta {

class Backoff {
 public:
  explicit Backoff(const Patience& patience, std::int64_t longest_nap_ns = kLongestNapNs)
      : patience_(patience), longest_nap_ns_(longest_nap_ns) {}

  /// Resets the naps after an event, before a new wait.
  void reset() {
    looks_ = 0;
    nap_ns_ = kFirstNapNs;
  }

  /// Spins, yields or naps once. Returns false when the limit has passed. Throws: Aborted.
  bool wait();

  /// The time that it yields between polls before it naps: about the time that a chunk takes.
  static constexpr std::int64_t kYieldNs = 100'000;
  static constexpr std::int64_t kFirstNapNs = 10'000;
  static constexpr std::int64_t kLongestNapNs = 100'000;
  /// A nap above kLongestNapNs is at most 1/32 of the wait so far: a poll and the switch to it take
  /// about 5 us from a thread that computes on the same core.
  static constexpr std::int64_t kLongestNapOfLongWaitNs = 1'000'000;
  static constexpr std::int64_t kNapsAWait = 32;

 private:
  const Patience& patience_;
  std::int64_t longest_nap_ns_;
  int looks_ = 0;
  std::int64_t nap_ns_ = kFirstNapNs;
  std::int64_t began_ = 0;  ///< when spinning ended
};

}  // namespace regatta
