// SPDX-License-Identifier: Apache-2.0
//
// The times at which one member arrived at a collective, one entry for each time that the
// collective ran. The memory is allocated before the run; when it is full, further arrivals are not
// logged. Between steps MpiArrivals computes from the logs how long after the first member each
// member arrived, and clears the logs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/comm/exchange_times.h"

namespace regatta::comm {

class ArrivalLog {
 public:
  explicit ArrivalLog(ExchangeTimes& times) : times_(times) {}

  /// Allocates and touches memory for `rounds` arrivals.
  void open(std::size_t rounds) { stamps_.assign(rounds, 0); }

  /// Logs an arrival. Units: nanoseconds by this process's clock. Threads: called only by the
  /// member's lane.
  void arrive(std::int64_t ns) {
    if (size_ < stamps_.size()) stamps_[size_++] = ns;
  }

  /// Returns the arrivals since the last clear(). This and the functions below are not called while
  /// lanes run.
  std::span<const std::int64_t> stamps() const { return std::span(stamps_).first(size_); }
  void clear() { size_ = 0; }

  /// Returns where MpiArrivals adds the member's lateness.
  ExchangeTimes& times() { return times_; }

 private:
  ExchangeTimes& times_;
  std::vector<std::int64_t> stamps_;
  std::size_t size_ = 0;
};

}  // namespace regatta::comm
