// SPDX-License-Identifier: Apache-2.0
//
// A count that one thread advances and others wait for; lanes and members of a collective
// synchronise by it. A wait may spin first, then sleeps in the kernel (futex), checks the abort
// flag at least every 50 ms, and ends at a deadline.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "kernels/runtime/kernel.h"

namespace regatta {

/// Thrown by a wait when the run ends early for another reason; carries no message of its own.
class Aborted : public std::exception {
 public:
  const char* what() const noexcept override { return "the run was ended by another lane"; }
};

/// Pauses between two polls of a spinning thread, so that the core's other thread gets on.
inline void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// How to wait.
struct Patience {
  const AbortFlag* abort = nullptr;
  int spins = 0;   ///< polls before sleeping; 0 where another thread needs the core
  int yields = 0;  ///< polls before sleeping, with a yield after each
  std::int64_t limit_ns = 120'000'000'000;
};

class alignas(64) Counter {
 public:
  std::uint64_t value() const { return value_.load(std::memory_order_acquire); }

  /// Sets a larger value and wakes the threads that wait for it. Threads: one writer.
  void advance_to(std::uint64_t value) {
    value_.exchange(value, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) wake();
  }

  /// Returns false when the limit passed. Throws: Aborted.
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
