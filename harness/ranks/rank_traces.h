// SPDX-License-Identifier: Apache-2.0
//
// Joins the timelines of ranks, converted to the coordinator's clock. Before the first step and
// after the last one the coordinator asks each rank several times for its time. The quickest round
// trip gives the best estimate of the difference between the two clocks, and a bound on its error
// (clock_comparison.h). Ranks on the coordinator's host share its clock.
// Threads: used from one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/ranks/control.pb.h"
#include "harness/ranks/control_messages.h"
#include "kernels/comm/mpi/clock_comparison.h"
#include "kernels/runtime/measure/trace.h"

namespace regatta::ranks {

class RankTraces {
 public:
  static constexpr int kRoundTrips = 16;  ///< per comparison of clocks

  explicit RankTraces(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

  /// Returns the message that asks a rank for its time, and records the current time. The message
  /// must be sent at once.
  control::ToRank ask_time(int rank);
  /// Adds a rank's answer to ask_time(). Must be called as soon as the answer arrives.
  void take(int rank, const control::Time& time);
  /// Compares the rank's clock with the coordinator's, from all answers since the previous
  /// comparison.
  void compare(int rank, const std::string& host_of_rank);

  /// Adds a piece of the rank's trace. Returns true if it was the last piece.
  /// Throws: RunError(PeerLost) if the bytes are damaged or too many.
  bool take(int rank, const control::BytesPiece& piece);

  /// The traces received so far, on the coordinator's clock. A process's name includes the error
  /// bound of its clock, if that is not 0.
  std::vector<ProcessTrace> joined() const;

 private:
  struct Rank {
    std::int64_t asked_ns = 0;  ///< time of the request, by the coordinator's clock
    std::vector<comm::RoundTrip> trips;
    std::optional<comm::ClockComparison> first;  ///< the first comparison
    comm::ClockComparison last;
    TraceReader reader;
    std::optional<ProcessTrace> trace;
  };
  Rank& at(int rank) { return ranks_.at(static_cast<std::size_t>(rank)); }

  std::vector<Rank> ranks_;
};

}  // namespace regatta::ranks
