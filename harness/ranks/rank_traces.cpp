// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/rank_traces.h"

#include <fmt/format.h>

#include <utility>

#include "harness/system/process.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::ranks {
namespace {

/// The comparison as the other process would have found it.
comm::ClockComparison seen_from_there(const comm::ClockComparison& found) {
  return {.own_ns = found.own_ns + found.offset_ns,
          .offset_ns = -found.offset_ns,
          .error_ns = found.error_ns};
}

}  // namespace

control::ToRank RankTraces::ask_time(int rank) {
  control::ToRank question;
  question.mutable_tell_time();
  at(rank).asked_ns = now_ns();
  return question;
}

void RankTraces::take(int rank, const control::Time& time) {
  at(rank).trips.push_back(
      {.sent_ns = at(rank).asked_ns, .there_ns = time.steady_ns(), .received_ns = now_ns()});
}

void RankTraces::compare(int rank, const std::string& host_of_rank) {
  Rank& known = at(rank);
  if (known.trips.empty()) return;  // the rank was lost
  comm::ClockComparison found = comm::compare_clocks(std::exchange(known.trips, {}));
  if (host_of_rank == system::host_name()) found = comm::of_one_host(found);
  known.last = seen_from_there(found);
  if (!known.first) known.first = known.last;
}

bool RankTraces::take(int rank, const control::BytesPiece& piece) {
  std::optional<ProcessTrace> trace = at(rank).reader.take(piece, rank);
  if (!trace) return false;
  at(rank).trace = std::move(trace);
  return true;
}

std::vector<ProcessTrace> RankTraces::joined() const {
  std::vector<ProcessTrace> all;
  for (const Rank& rank : ranks_) {
    if (!rank.trace || !rank.first) continue;
    ProcessTrace& trace = all.emplace_back(*rank.trace);
    const comm::ClockMap clock(*rank.first, rank.last);
    for (TraceRow& row : trace.rows) {
      for (std::int64_t& ns : row.begin_ns) ns = clock.other_ns(ns);
      for (std::int64_t& ns : row.end_ns) ns = clock.other_ns(ns);
    }
    if (clock.error_ns() > 0) {
      trace.name += fmt::format(" (its clock within {:.0f} us)",
                                static_cast<double>(clock.error_ns()) * 1e-3);
    }
  }
  return all;
}

}  // namespace regatta::ranks
