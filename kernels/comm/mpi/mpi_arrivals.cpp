// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/mpi/mpi_arrivals.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "kernels/comm/mpi/mpi_clocks.h"

namespace regatta::comm {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kRoundsAtOnce = 4096;

/// Replaces each element by the least value that any rank has there.
void reduce_to_least(MpiComm all, std::span<std::int64_t> values) {
  mpi_call(
      mpi().allreduce(values.data(), static_cast<int>(values.size()), MpiReduction::LeastI64, all),
      "MPI_Allreduce");
}

/// Error bound of a span between an arrival at this rank and one at another: the other may be the
/// rank with the least accurate clock.
std::int64_t uncertainty(MpiComm all, std::int64_t own_error_ns) {
  int rank = 0;
  int ranks = 1;
  mpi_call(mpi().comm_rank(all, rank), "MPI_Comm_rank");
  mpi_call(mpi().comm_size(all, ranks), "MPI_Comm_size");
  std::vector<std::int64_t> errors(static_cast<std::size_t>(ranks));
  mpi_call(mpi().allgather(&own_error_ns, sizeof(own_error_ns), errors.data(), all),
           "MPI_Allgather");
  errors.erase(errors.begin() + rank);
  return errors.empty() ? 0 : own_error_ns + *std::max_element(errors.begin(), errors.end());
}

}  // namespace

ArrivalLog& MpiArrivals::log(std::int64_t group, std::int64_t members, ExchangeTimes& times) {
  Group& entry = groups_[group];
  entry.members = members;
  return entry.logs.emplace_back(times);
}

/// Whether all ranks have the same collectives, by a hash of their numbers and members.
bool MpiArrivals::ranks_agree(MpiComm all) const {
  std::int64_t hash = 1;
  for (const auto& [number, group] : groups_) {
    hash = (hash * 1'000'003 + number * 1009 + group.members) % 1'000'000'007;
  }
  std::array<std::int64_t, 2> bounds = {hash, -hash};
  reduce_to_least(all, bounds);
  return bounds[0] == -bounds[1];
}

ClockComparison MpiArrivals::compare_now(MpiComm all) const {
  const ClockComparison found = compare_with_rank_0(all, clock_);
  return on_first_host_ ? of_one_host(found) : found;
}

void MpiArrivals::connect(MpiComm all, const MpiSession& session) {
  on_first_host_ = session.hosts()[static_cast<std::size_t>(session.rank())] == session.hosts()[0];
  comparable_ = ranks_agree(all) && !groups_.empty();
  if (!comparable_) return;
  std::size_t logs = 0;
  for (const auto& [number, group] : groups_) logs += group.logs.size();
  for (auto& [number, group] : groups_) {
    for (ArrivalLog& log : group.logs) log.open(arrivals_ / logs);
  }
  first_ = last_ = compare_now(all);
}

void MpiArrivals::settle(MpiComm all) {
  if (!comparable_) return;
  const ClockMap map = compare(all);
  for (auto& [number, group] : groups_) settle(all, map, group);
}

/// Compares the clocks now; returns the map for the time since the last comparison.
ClockMap MpiArrivals::compare(MpiComm all) {
  const ClockComparison now = compare_now(all);
  const ClockMap map(last_, now);
  last_ = now;
  uncertainty_ns_ = std::max(uncertainty_ns_, uncertainty(all, map.error_ns()));
  facts_ = {.offset_ns = first_.offset_ns,
            .drift_ppb = ClockMap(first_, last_).drift_ppb(),
            .error_ns = std::max(map.error_ns(), facts_ ? facts_->error_ns : 0)};
  return map;
}

/// Adds lateness for rounds that all have logged: logs are shorter on ranks with several members.
void MpiArrivals::settle(MpiComm all, const ClockMap& map, Group& group) const {
  std::int64_t noted = kNever;
  for (const ArrivalLog& log : group.logs) noted = std::min(noted, std::ssize(log.stamps()));
  reduce_to_least(all, {&noted, 1});
  const auto rounds = static_cast<std::size_t>(noted);
  std::vector<std::int64_t> firsts;
  for (std::size_t begin = 0; begin < rounds; begin += kRoundsAtOnce) {
    const std::size_t count = std::min(kRoundsAtOnce, rounds - begin);
    firsts.assign(count, kNever);
    for (const ArrivalLog& log : group.logs) {
      for (std::size_t i = 0; i < count; ++i) {
        firsts[i] = std::min(firsts[i], map.other_ns(log.stamps()[begin + i]));
      }
    }
    reduce_to_least(all, firsts);
    for (ArrivalLog& log : group.logs) {
      for (std::size_t i = 0; i < count; ++i) {
        log.times().late.add(map.other_ns(log.stamps()[begin + i]) - firsts[i]);
      }
    }
  }
  for (ArrivalLog& log : group.logs) {
    log.times().late_uncertainty_ns = uncertainty_ns_;
    log.clear();
  }
}

}  // namespace regatta::comm
