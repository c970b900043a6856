// SPDX-License-Identifier: Apache-2.0
//
// The times at which one member arrived at a collective, one for each round. The memory is
// allocated before the first round; arrivals beyond its size are not logged. Between steps
// MpiArrivals turns the log into lateness behind the first member and clears it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/comm/exchange_times.h"

namespace regatta {

class ArrivalLog {
 public:
  explicit ArrivalLog(ExchangeTimes& times) : times_(times) {}

  /// Allocates and touches memory for `rounds` arrivals.
  void open(std::size_t rounds) { stamps_.assign(rounds, 0); }

  /// Logs an arrival. Units: nanoseconds by this process's clock. Threads: the member's lane.
  void arrive(std::int64_t ns) {
    if (size_ < stamps_.size()) stamps_[size_++] = ns;
  }

  /// The arrivals since the last clear(). Not called while lanes run, like all functions below.
  std::span<const std::int64_t> stamps() const { return std::span(stamps_).first(size_); }
  void clear() { size_ = 0; }

  /// Receives the member's lateness.
  ExchangeTimes& times() { return times_; }

 private:
  ExchangeTimes& times_;
  std::vector<std::int64_t> stamps_;
  std::size_t size_ = 0;
};

}  // namespace regatta
