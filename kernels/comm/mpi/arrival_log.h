// SPDX-License-Identifier: Apache-2.0
//
// When one member came to a collective, round by round, in memory that is there before the first
// round; what finds no more room is not noted. What the log holds is settled when lanes rest: then
// it is told how far behind the first of all members this one came, and is empty again.
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

  /// Room for so many rounds, in memory that was touched.
  void open(std::size_t rounds) { stamps_.assign(rounds, 0); }

  /// Units: nanoseconds by this process's clock. Threads: the member's lane.
  void arrive(std::int64_t ns) {
    if (size_ < stamps_.size()) stamps_[size_++] = ns;
  }

  /// Of the rounds since the log was last emptied. Not while lanes run, as all below.
  std::span<const std::int64_t> stamps() const { return std::span(stamps_).first(size_); }
  void clear() { size_ = 0; }

  /// Where it is told how late the member came.
  ExchangeTimes& times() { return times_; }

 private:
  ExchangeTimes& times_;
  std::vector<std::int64_t> stamps_;
  std::size_t size_ = 0;
};

}  // namespace regatta
