// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/counter.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

#include "kernels/runtime/measure/clock.h"

namespace regatta {
namespace {

constexpr long kNapNs = 50'000'000;

/// The futex word is the count's low half (x86-64 and arm64 are little-endian).
std::uint32_t* word_of(std::atomic<std::uint64_t>& value) {
  return reinterpret_cast<std::uint32_t*>(&value);
}

}  // namespace

void Counter::wake() {
  syscall(SYS_futex, word_of(value_), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

bool Counter::wait_slowly(std::uint64_t target, const Patience& patience) {
  for (int i = 0; i < patience.spins; ++i) {
    if (value() >= target) return true;
    pause_briefly();
  }
  for (int i = 0; i < patience.yields; ++i) {
    if (value() >= target) return true;
    sched_yield();
  }
  const std::int64_t deadline = now_ns() + patience.limit_ns;
  const timespec nap{.tv_sec = 0, .tv_nsec = kNapNs};
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  bool reached = true;
  bool aborted = false;
  for (;;) {
    const std::uint64_t seen = value_.load(std::memory_order_seq_cst);
    if (seen >= target) break;
    aborted = patience.abort != nullptr && patience.abort->raised.load(std::memory_order_acquire);
    reached = now_ns() < deadline;
    if (aborted || !reached) break;
    syscall(SYS_futex, word_of(value_), FUTEX_WAIT_PRIVATE, static_cast<std::uint32_t>(seen), &nap,
            nullptr, 0);
  }
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  if (aborted) throw Aborted();
  return reached;
}

}  // namespace regatta
