// SPDX-License-Identifier: Apache-2.0
//
// The clock by which this process says when it came to an exchange: the steady clock, which on
// another host has begun at another time and runs at its own pace. A test makes it another host's.
#pragma once

#include <cstdint>

#include "kernels/runtime/measure/clock.h"

namespace regatta {

/// What a test lets a clock be wrong by.
struct ClockSkew {
  std::int64_t offset_ns = 0;
  std::int64_t drift_ppb = 0;  ///< gained from when the clock is made. Units: parts per billion
};

class ProcessClock {
 public:
  ProcessClock() = default;
  explicit ProcessClock(const ClockSkew& skew) : skew_(skew), begin_ns_(now_ns()) {}

  std::int64_t now() const { return at(now_ns()); }
  /// What it shows when the steady clock shows this. Units: nanoseconds.
  std::int64_t at(std::int64_t steady_ns) const {
    const std::int64_t gained_ns = (steady_ns - begin_ns_) * skew_.drift_ppb / 1'000'000'000;
    return steady_ns + skew_.offset_ns + gained_ns;
  }

 private:
  ClockSkew skew_;
  std::int64_t begin_ns_ = 0;
};

}  // namespace regatta
