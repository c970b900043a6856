// SPDX-License-Identifier: Apache-2.0
//
// Compares two clocks as NTP does (RFC 5905, section 8): a message goes to the other process and
// returns with that process's time, read at some moment between departure and return, so
//   offset = there - (sent + received) / 2,   error <= (received - sent) / 2.
// The fastest of several round trips has the smallest error. Two comparisons at different times
// give the drift, which is assumed to be constant between them.
// Units: nanoseconds; own_ns is by this process's clock, other_ns by the other process's clock.
#pragma once

#include <cstdint>
#include <span>

namespace regatta::comm {

struct RoundTrip {
  std::int64_t sent_ns = 0;      ///< by this process's clock
  std::int64_t there_ns = 0;     ///< the other process's reading, by its clock
  std::int64_t received_ns = 0;  ///< by this process's clock
};

struct ClockComparison {
  std::int64_t own_ns = 0;     ///< time of the comparison, by this process's clock
  std::int64_t offset_ns = 0;  ///< the other clock minus this process's
  std::int64_t error_ns = 0;   ///< bound on the offset's error, in either direction
};

/// Compares two clocks by the fastest of the round trips; `trips` must have at least one.
ClockComparison compare_clocks(std::span<const RoundTrip> trips);

/// Corrects a comparison between two processes on one host, which normally share the steady clock:
/// returns it with offset and error 0. If the offset exceeds the error, returns `comparison`
/// unchanged, because a container may have a clock of its own.
ClockComparison of_one_host(const ClockComparison& comparison);

/// Converts times of this process's clock to times of the other clock, by interpolation between two
/// comparisons.
class ClockMap {
 public:
  ClockMap() = default;  ///< both clocks are the same
  ClockMap(const ClockComparison& begin, const ClockComparison& end);

  std::int64_t other_ns(std::int64_t own_ns) const;
  /// Bound on the error of other_ns() between the comparisons: the larger of their errors.
  std::int64_t error_ns() const { return error_ns_; }
  /// Returns how much faster the other clock runs than this process's. Units: parts per billion,
  /// that is nanoseconds per second.
  std::int64_t drift_ppb() const;

 private:
  ClockComparison begin_;
  double gain_ = 0;  ///< nanoseconds that the other clock gains per nanosecond
  std::int64_t error_ns_ = 0;
};

}  // namespace regatta::comm
