// SPDX-License-Identifier: Apache-2.0
//
// This process's clock for arrival times: the steady clock. Its start and its rate differ between
// hosts; tests imitate that on one host with an artificial skew.
#pragma once

#include <cstdint>

#include "kernels/runtime/measure/clock.h"

namespace regatta::comm {

/// An artificial difference from the steady clock, for tests.
struct ClockSkew {
  std::int64_t offset_ns = 0;
  std::int64_t drift_ppb = 0;  ///< gain since the clock was created. Units: parts per billion
};

class ProcessClock {
 public:
  ProcessClock() = default;
  explicit ProcessClock(const ClockSkew& skew) : skew_(skew), begin_ns_(now_ns()) {}

  std::int64_t now() const { return at(now_ns()); }
  /// Returns this clock's time when the steady clock shows `steady_ns`. Units: nanoseconds.
  std::int64_t at(std::int64_t steady_ns) const {
    const std::int64_t gained_ns = (steady_ns - begin_ns_) * skew_.drift_ppb / 1'000'000'000;
    return steady_ns + skew_.offset_ns + gained_ns;
  }

 private:
  ClockSkew skew_;
  std::int64_t begin_ns_ = 0;
};

}  // namespace regatta::comm
