// SPDX-License-Identifier: Apache-2.0
//
// Brings the timelines of ranks together on the coordinator's clock. Before the first step and
// after the last one each rank is asked for its time, several times; of the round trips the
// quickest tells best by how much the two clocks differ, and within which bound
// (clock_comparison.h). Ranks on the coordinator's host have its clock.
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
  static constexpr int kRoundTrips = 16;  ///< for a comparison

  explicit RankTraces(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

  /// The question for a rank's time, which is sent now.
  control::ToRank ask_time(int rank);
  /// Its answer, which has come now.
  void take(int rank, const control::Time& time);
  /// Ends a comparison, of all answers since the last one.
  void compare(int rank, const std::string& host_of_rank);

  /// Adds a piece of a trace. Returns whether it was the last.
  /// Throws: RunError(PeerLost) if the bytes are damaged or too many.
  bool take(int rank, const control::BytesPiece& piece);

  /// The traces that are there. The error of a process's clock, if it has any, stands in its name.
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
