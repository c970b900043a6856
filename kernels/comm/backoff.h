// SPDX-License-Identifier: Apache-2.0
//
// Polls for something that no counter signals. It spins and yields as counter.h does, but then naps
// between polls instead of sleeping until woken. Polls take time from computing threads, so naps
// grow while nothing happens.
#pragma once

#include <cstdint>

#include "kernels/runtime/counter.h"

namespace regatta {

class Backoff {
 public:
  explicit Backoff(const Patience& patience, std::int64_t longest_nap_ns = kLongestNapNs)
      : patience_(patience), longest_nap_ns_(longest_nap_ns) {}

  /// Something happened: a new wait may begin.
  void reset() {
    looks_ = 0;
    nap_ns_ = kFirstNapNs;
  }

  /// Lets a moment pass. Returns false when the limit has passed. Throws: Aborted.
  bool wait();

  /// For this long it yields between polls before it naps: about the time that a chunk takes.
  static constexpr std::int64_t kYieldNs = 100'000;
  static constexpr std::int64_t kFirstNapNs = 10'000;
  static constexpr std::int64_t kLongestNapNs = 100'000;
  /// Naps beyond kLongestNapNs are at most the 32nd part of the wait so far: a poll and the switch
  /// to it take about 5 us from a thread that computes on the same core.
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
