// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/loops/staleness_bound.h"

#include <chrono>
#include <limits>
#include <string>
#include <thread>

#include "kernels/base/error.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta {
namespace {

constexpr auto kNap = std::chrono::microseconds(50);

}  // namespace

StalenessBound::Reading StalenessBound::slowest() const {
  Reading slowest{.finished = std::numeric_limits<std::int64_t>::max()};
  for (std::size_t loop = 0; loop < clocks_.size(); ++loop) {
    const std::int64_t finished = clocks_[loop].finished.load(std::memory_order_acquire);
    if (finished >= slowest.finished) continue;
    if (!clocks_[loop].retired.load(std::memory_order_acquire)) slowest = {loop, finished};
  }
  return slowest;
}

void StalenessBound::await_turn(std::size_t loop, const ExampleCount& count,
                                const Patience& patience) const {
  const std::int64_t clock = clocks_[loop].finished.load(std::memory_order_relaxed);
  std::int64_t deadline = 0;
  for (int looks = 0;; ++looks) {
    if (lets_begin(clock)) return;
    if (count.claimed.load(std::memory_order_relaxed) >=
        count.target.load(std::memory_order_relaxed)) {
      return;
    }
    if (patience.abort->raised.load(std::memory_order_relaxed)) throw Aborted();
    if (looks < patience.spins) continue;
    const std::int64_t now = now_ns();
    if (deadline == 0) deadline = now + patience.limit_ns;
    if (now > deadline) {
      throw RunError(ErrorKind::Timeout, "step " + std::to_string(clock) + ": loop " +
                                             std::to_string(loop) + " waited in vain for loop " +
                                             std::to_string(slowest().loop) +
                                             ", which the staleness bound of " +
                                             std::to_string(bound_) + " lets it lead no further");
    }
    std::this_thread::sleep_for(kNap);
  }
}

}  // namespace regatta
