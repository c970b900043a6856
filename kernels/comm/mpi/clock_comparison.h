// SPDX-License-Identifier: Apache-2.0
//
// One clock against another, as NTP compares them (RFC 5905, section 8): a message goes to the
// other process and comes back with the time there. The other clock showed that time somewhere
// between the message's leaving and its return, so that
//   offset = there - (sent + received) / 2,   error <= (received - sent) / 2,
// and of several round trips the one that took least tells most. Two such comparisons tell how the
// clocks part in between: evenly, as is assumed.
// Units: nanoseconds, each time by the clock that its name says.
#pragma once

#include <cstdint>
#include <span>

namespace regatta {

struct RoundTrip {
  std::int64_t sent_ns = 0;      ///< by the own clock
  std::int64_t there_ns = 0;     ///< by the other
  std::int64_t received_ns = 0;  ///< by the own clock
};

struct ClockComparison {
  std::int64_t own_ns = 0;     ///< when it was, by the own clock
  std::int64_t offset_ns = 0;  ///< what the other clock shows beyond the own
  std::int64_t error_ns = 0;   ///< at most so much either way
};

/// By the quickest of at least one.
ClockComparison compare_clocks(std::span<const RoundTrip> trips);

/// Of processes on one host, whose steady clock is one: nothing is uncertain then, however slow the
/// round trips were, unless they say otherwise (a container may have a clock of its own).
ClockComparison of_one_host(const ClockComparison& comparison);

/// Times of the own clock as times of the other, between two comparisons.
class ClockMap {
 public:
  ClockMap() = default;  ///< the two are one
  ClockMap(const ClockComparison& begin, const ClockComparison& end);

  std::int64_t other_ns(std::int64_t own_ns) const;
  /// Of other_ns() between the comparisons: an error there is no larger than at the worse end.
  std::int64_t error_ns() const { return error_ns_; }
  /// What the other clock gains on the own. Units: parts per billion, or nanoseconds a second.
  std::int64_t drift_ppb() const;

 private:
  ClockComparison begin_;
  double gain_ = 0;  ///< of the other clock in one of the own
  std::int64_t error_ns_ = 0;
};

}  // namespace regatta
