// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/staleness_bound.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <thread>

#include "kernels/graph/error.h"
#include "kernels/runtime/clock.h"

namespace regatta {
namespace {

constexpr auto kNap = std::chrono::microseconds(50);

}  // namespace

std::size_t StalenessBound::slowest() const {
  const auto reading = [](const Clock& clock) {
    return clock.retired.load(std::memory_order_acquire)
               ? std::numeric_limits<std::int64_t>::max()
               : clock.finished.load(std::memory_order_relaxed);
  };
  const auto found =
      std::min_element(clocks_.begin(), clocks_.end(),
                       [&](const Clock& a, const Clock& b) { return reading(a) < reading(b); });
  return static_cast<std::size_t>(found - clocks_.begin());
}

void StalenessBound::await_turn(std::size_t loop, std::int64_t clock, const ExampleCount& count,
                                const Patience& patience) {
  Clock& own = clocks_[loop];
  own.finished.store(clock, std::memory_order_release);
  std::int64_t deadline = 0;
  for (int looks = 0;; ++looks) {
    const std::size_t other = slowest();
    const std::int64_t lead = clock - clocks_[other].finished.load(std::memory_order_acquire);
    if (lead <= bound_) {
      own.largest_lead = std::max(own.largest_lead, lead);
      return;
    }
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
                                             std::to_string(other) +
                                             ", which the staleness bound of " +
                                             std::to_string(bound_) + " lets it lead no further");
    }
    std::this_thread::sleep_for(kNap);
  }
}

void StalenessBound::retire(std::size_t loop) {
  clocks_[loop].retired.store(true, std::memory_order_release);
}

}  // namespace regatta
