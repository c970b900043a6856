// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/compute_delay.h"

#include <time.h>

#include <algorithm>

#include "kernels/runtime/counter.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta {
namespace {

/// Shorter delays are collected first, because beginning and ending one takes about 10 ns.
constexpr double kLeastNs = 1'000;
/// Shorter delays spin and keep the core, as computing does; longer ones leave it to other lanes.
constexpr double kSpinNs = 100'000;
/// Linux wakes a thread this much late (timer slack). The rest of a delay is spun.
constexpr double kWakesLateNs = 50'000;
constexpr double kLongestNapNs = 50e6;  // between two looks at the abort flag

}  // namespace

ComputeDelay::ComputeDelay(double factor, const AbortFlag* abort)
    : surplus_(factor - 1), abort_(abort), ns_per_tick_(ns_per_tick()) {}

std::uint64_t ComputeDelay::after(std::uint64_t span, std::uint64_t end) {
  owed_ += static_cast<double>(span) * surplus_;
  if (owed_ * ns_per_tick_ < kLeastNs) return end;
  const std::uint64_t now = wait_until(end + static_cast<std::uint64_t>(owed_));
  owed_ -= static_cast<double>(now - end);
  total_ += now - end;
  return now;
}

std::uint64_t ComputeDelay::wait_until(std::uint64_t end) const {
  for (;;) {
    const std::uint64_t now = ticks();
    if (now >= end) return now;
    const double left_ns = static_cast<double>(end - now) * ns_per_tick_;
    if (left_ns < kSpinNs) {
      pause_briefly();
      continue;
    }
    if (abort_ != nullptr && abort_->raised.load(std::memory_order_relaxed)) throw Aborted();
    const timespec nap{
        .tv_sec = 0, .tv_nsec = static_cast<long>(std::min(left_ns - kWakesLateNs, kLongestNapNs))};
    nanosleep(&nap, nullptr);
  }
}

}  // namespace regatta
