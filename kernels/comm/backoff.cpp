// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/backoff.h"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>

#include "kernels/runtime/measure/clock.h"

namespace regatta::comm {
namespace {

/// Sets the thread's timer slack to 1 ns; by default Linux adds up to 50 us to each nap.
void want_exact_naps() {
  thread_local bool told = false;
  if (!told) prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  told = true;
}

}  // namespace

bool Backoff::wait() {
  const int look = looks_++;
  if (look < patience_.spins) {
    pause_briefly();
    return true;
  }
  const std::int64_t now = now_ns();
  if (look == patience_.spins) began_ = now;
  if (now - began_ < kYieldNs) {
    sched_yield();
    return true;
  }
  if (patience_.abort != nullptr && patience_.abort->raised.load(std::memory_order_acquire)) {
    throw Aborted();
  }
  if (now - began_ >= patience_.limit_ns) return false;
  want_exact_naps();
  const timespec nap{.tv_sec = 0, .tv_nsec = nap_ns_};
  nanosleep(&nap, nullptr);
  const std::int64_t part_of_wait = (now - began_) / kNapsAWait;
  nap_ns_ = std::min({2 * nap_ns_, longest_nap_ns_, std::max(kLongestNapNs, part_of_wait)});
  return true;
}

}  // namespace regatta::comm
