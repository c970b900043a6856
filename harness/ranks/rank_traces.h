// SPDX-License-Identifier: Apache-2.0
//
// Joins the timelines of ranks on the coordinator's clock. Before the first step and after the last
// one each rank is asked for its time, several times. The quickest round trip gives the best
// estimate of the difference between the two clocks, and its bound (clock_comparison.h). Ranks on
// the coordinator's host have its clock.
// Threads: one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/ranks/control.pb.h"
#include "harness/ranks/control_messages.h"
#include "kernels/comm/mpi/clock_comparison.h"
#include "kernels/runtime/measure/trace.h"

namespace regatta {

class RankTraces {
 public:
  static constexpr int kRoundTrips = 16;  ///< per comparison

  explicit RankTraces(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

  /// The request for a rank's time; it must be sent at once.
  control::ToRank ask_time(int rank);
  /// Notes a rank's answer, which must just have arrived.
  void take(int rank, const control::Time& time);
  /// Ends a comparison by all answers since the previous one.
  void compare(int rank, const std::string& host_of_rank);

  /// Adds a piece of a trace. Returns true if it was the last.
  /// Throws: RunError(PeerLost) if the bytes are damaged or too many.
  bool take(int rank, const control::BytesPiece& piece);

  /// The traces received so far. A process's name includes the error of its clock, if there is any.
  std::vector<ProcessTrace> joined() const;

 private:
  struct Rank {
    std::int64_t asked_ns = 0;  ///< by the coordinator's clock
    std::vector<RoundTrip> trips;
    std::optional<ClockComparison> first;  ///< with the coordinator's clock, by the rank's
    ClockComparison last;
    TraceReader reader;
    std::optional<ProcessTrace> trace;
  };
  Rank& at(int rank) { return ranks_.at(static_cast<std::size_t>(rank)); }

  std::vector<Rank> ranks_;
};

}  // namespace regatta
