// SPDX-License-Identifier: Apache-2.0
//
// A counter that one thread advances and other threads wait for. Lanes and the members of a
// collective synchronise with it. A wait may spin first; then it sleeps on a futex, checks the
// abort flag at least every 50 ms, and gives up at a deadline.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "kernels/runtime/kernel.h"

namespace regatta {

/// Thrown by a wait when the abort flag is raised: the run ends because of another lane's error.
class Aborted : public std::exception {
 public:
  const char* what() const noexcept override { return "the run was ended by another lane"; }
};

/// Pauses between two polls of a spinning thread, to leave the core to its other hardware thread.
inline void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");  // `yield` does nothing on most cores
#endif
}

/// How long a wait spins before it sleeps, and when it ends without success.
struct Patience {
  const AbortFlag* abort = nullptr;
  int spins = 0;   ///< busy polls before sleeping; 0 where another thread needs the core
  int yields = 0;  ///< polls after those, each followed by sched_yield()
  std::int64_t limit_ns = 120'000'000'000;  ///< the longest wait
};

class alignas(64) Counter {
 public:
  std::uint64_t value() const { return value_.load(std::memory_order_acquire); }

  /// Sets the count to `value`, which must be larger, and wakes the waiting threads. Threads: only
  /// one thread may advance a counter.
  void advance_to(std::uint64_t value) {
    value_.exchange(value, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) wake();
  }

  /// Waits until the count is at least `target`. Returns false if that takes longer than
  /// `patience.limit_ns`. Throws: Aborted.
  bool wait_for(std::uint64_t target, const Patience& patience) {
    if (value() >= target) return true;
    return wait_slowly(target, patience);
  }

 private:
  void wake();
  bool wait_slowly(std::uint64_t target, const Patience& patience);

  std::atomic<std::uint64_t> value_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

}  // namespace regatta
