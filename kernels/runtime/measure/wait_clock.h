// SPDX-License-Identifier: Apache-2.0
//
// The total time that a thread has waited for others. Another thread may read it at any time, even
// during a wait: for example, a compute lane that waits for its messages reads how long the
// communication lane in turn waited for other processes. The state is one word, modulo 2^64:
// between waits, the ticks waited so far (even); during a wait, the ticks waited before the wait
// minus the time at which the wait began (odd).
#pragma once

#include <atomic>
#include <cstdint>

namespace regatta {

class WaitClock {
 public:
  WaitClock() = default;
  WaitClock(const WaitClock& other) { *this = other; }
  WaitClock& operator=(const WaitClock& other) {
    word_.store(other.word_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return *this;
  }

  /// begin() and end() mark that a wait begins or ends at `now`. Units: ticks. Threads: called only
  /// by the thread that waits.
  void begin(std::uint64_t now) { word_.store((until(now) - now) | 1, std::memory_order_relaxed); }
  void end(std::uint64_t now) { word_.store(until(now), std::memory_order_relaxed); }

  /// Returns the ticks waited until `now`, with an error of at most two. Threads: any.
  std::uint64_t until(std::uint64_t now) const {
    const std::uint64_t word = word_.load(std::memory_order_relaxed);
    return word % 2 == 0 ? word : (word + now) & ~std::uint64_t{1};
  }

 private:
  std::atomic<std::uint64_t> word_{0};
};

}  // namespace regatta
