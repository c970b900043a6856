// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/mpi/clock_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "kernels/base/error.h"

namespace regatta::comm {
namespace {

std::int64_t duration_ns(const RoundTrip& trip) { return trip.received_ns - trip.sent_ns; }

}  // namespace

ClockComparison compare_clocks(std::span<const RoundTrip> trips) {
  check(!trips.empty(), "clocks are compared by round trips");
  const RoundTrip& best = *std::min_element(
      trips.begin(), trips.end(),
      [](const auto& a, const auto& b) { return duration_ns(a) < duration_ns(b); });
  const std::int64_t middle_ns = best.sent_ns + duration_ns(best) / 2;
  return {.own_ns = middle_ns,
          .offset_ns = best.there_ns - middle_ns,
          .error_ns = (duration_ns(best) + 1) / 2};
}

ClockComparison of_one_host(const ClockComparison& comparison) {
  if (std::abs(comparison.offset_ns) > comparison.error_ns) return comparison;
  return {.own_ns = comparison.own_ns};
}

ClockMap::ClockMap(const ClockComparison& begin, const ClockComparison& end)
    : begin_(begin), error_ns_(std::max(begin.error_ns, end.error_ns)) {
  const std::int64_t between_ns = end.own_ns - begin.own_ns;
  if (between_ns <= 0) return;  // without elapsed time there is no drift
  gain_ = static_cast<double>(end.offset_ns - begin.offset_ns) / static_cast<double>(between_ns);
}

std::int64_t ClockMap::other_ns(std::int64_t own_ns) const {
  const double gained_ns = gain_ * static_cast<double>(own_ns - begin_.own_ns);
  return own_ns + begin_.offset_ns + std::llround(gained_ns);
}

std::int64_t ClockMap::drift_ppb() const { return std::llround(gain_ * 1e9); }

}  // namespace regatta::comm
