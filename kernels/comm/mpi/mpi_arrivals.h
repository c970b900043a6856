// SPDX-License-Identifier: Apache-2.0
//
// Measures how late each member arrives at collectives between processes on hosts that may have
// different clocks. Each member logs its arrivals by its process's clock. Ranks compare their
// clocks with rank 0's before the first step and at each settle(), while no lane runs. settle()
// converts the logs to rank 0's clock and finds the first arrival at each exchange among all ranks.
// The uncertainty of the lateness is the error of the comparisons; it is 0 if all ranks are on one
// host. A run that fails does not call settle() again, so its lateness after the last call is
// missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "kernels/comm/exchange_times.h"
#include "kernels/comm/mpi/arrival_log.h"
#include "kernels/comm/mpi/clock_comparison.h"
#include "kernels/comm/mpi/mpi_call.h"
#include "kernels/comm/mpi/mpi_session.h"
#include "kernels/comm/mpi/process_clock.h"

namespace regatta::comm {

class MpiArrivals {
 public:
  /// Default for the number of arrivals that all logs of this process together can hold, 8 bytes
  /// each.
  static constexpr std::size_t kArrivals = std::size_t{1} << 20;

  explicit MpiArrivals(const ProcessClock& clock, std::size_t arrivals = kArrivals)
      : clock_(clock), arrivals_(arrivals) {}
  const ProcessClock& clock() const { return clock_; }

  /// Adds the log of a member in this process, for the collective with number `group`, which has
  /// `members` members. settle() adds the member's lateness to `times`. The reference stays valid.
  /// Called before connect().
  ArrivalLog& log(std::int64_t group, std::int64_t members, ExchangeTimes& times);

  /// Allocates the logs and makes the first comparison of clocks. Called once, by all ranks
  /// together, before the first step. Throws: RunError(PeerLost).
  void connect(MpiComm all, const MpiSession& session);
  /// Computes lateness from the logs and clears them. Called by all ranks together, between two
  /// steps of all loops. Throws: RunError(PeerLost).
  void settle(MpiComm all);

  /// Returns the bound on the error of each lateness, in either direction; 0 before the first
  /// settle(). Units: nanoseconds.
  std::int64_t uncertainty_ns() const { return uncertainty_ns_; }
  /// Returns the comparison of this process's clock with rank 0's; empty before the first settle().
  std::optional<ClockFacts> facts() const { return facts_; }

 private:
  struct Group {
    std::int64_t members = 0;
    std::deque<ArrivalLog> logs;
  };
  bool ranks_agree(MpiComm all) const;
  ClockComparison compare_now(MpiComm all) const;
  ClockMap compare(MpiComm all);
  void settle(MpiComm all, const ClockMap& map, Group& group) const;

  ProcessClock clock_;
  std::size_t arrivals_;
  std::map<std::int64_t, Group> groups_;
  bool on_first_host_ = false;  ///< this rank is on rank 0's host
  bool comparable_ = false;     ///< all ranks have members in the same collectives
  ClockComparison first_;
  ClockComparison last_;
  std::int64_t uncertainty_ns_ = 0;
  std::optional<ClockFacts> facts_;
};

}  // namespace regatta::comm
