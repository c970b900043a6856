// SPDX-License-Identifier: Apache-2.0
//
// Who came how late to collectives over processes, on one host or on several, whose clocks are not
// one. Each member logs when it came, by its process's clock. Ranks compare their clocks with rank
// 0's before the first step and whenever they settle, while lanes rest: then each log is told as by
// rank 0's clock, and of each exchange the ranks find the first to come. What the comparisons
// cannot tell is the uncertainty; between ranks of rank 0's host there is none. A run that fails
// does not settle any more: lateness after the last settling is missing.
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

namespace regatta {

class MpiArrivals {
 public:
  /// All logs of this process together have room for so many arrivals (8 bytes each).
  static constexpr std::size_t kArrivals = std::size_t{1} << 20;

  explicit MpiArrivals(const ProcessClock& clock, std::size_t arrivals = kArrivals)
      : clock_(clock), arrivals_(arrivals) {}
  const ProcessClock& clock() const { return clock_; }

  /// Of a member that lives here, in a collective of `members`; settle() enters its lateness into
  /// `times`. It stays where it is. Before connect().
  ArrivalLog& log(std::int64_t group, std::int64_t members, ExchangeTimes& times);

  /// Together with all ranks, each once, before the first step. Throws: RunError(PeerLost).
  void connect(MPI_Comm all, const MpiSession& session);
  /// Together with all ranks, between two steps of all loops.
  void settle(MPI_Comm all);

  /// Of what the logs tell as late; 0 before anything was settled. Units: nanoseconds.
  std::int64_t uncertainty_ns() const { return uncertainty_ns_; }
  /// This process's clock against rank 0's; empty before anything was settled.
  std::optional<ClockFacts> facts() const { return facts_; }

 private:
  struct Group {
    std::int64_t members = 0;
    std::deque<ArrivalLog> logs;
  };
  bool ranks_agree(MPI_Comm all) const;
  ClockComparison compare_now(MPI_Comm all) const;
  ClockMap compare(MPI_Comm all);
  void settle(MPI_Comm all, const ClockMap& map, Group& group) const;

  ProcessClock clock_;
  std::size_t arrivals_;
  std::map<std::int64_t, Group> groups_;
  bool on_first_host_ = false;  ///< rank 0's
  bool comparable_ = false;     ///< all ranks have members in the same collectives
  ClockComparison first_;
  ClockComparison last_;
  std::int64_t uncertainty_ns_ = 0;
  std::optional<ClockFacts> facts_;
};

}  // namespace regatta
