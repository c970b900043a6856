// SPDX-License-Identifier: Apache-2.0
//
// Time. Spans inside a step are read from the processor's time stamp counter where it is invariant
// (about 8 ns a reading), everything else from the steady clock.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace regatta {

/// Time of the steady clock. Units: nanoseconds.
inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Reading of the time stamp counter. Units: ticks; see ns_per_tick().
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(now_ns());
#endif
}

/// Nanoseconds in a tick, calibrated against the steady clock over 20 ms at the first call.
double ns_per_tick();

/// Both clocks read at once.
struct Moment {
  std::int64_t ns = 0;
  std::uint64_t ticks = 0;
};

Moment moment();

/// Converts ticks between two moments to the steady clock's time by interpolation; a ratio from 20
/// ms of calibration would drift away from it. A later tick has no earlier time.
class TickMap {
 public:
  TickMap(const Moment& begin, const Moment& end);
  std::int64_t ns(std::uint64_t ticks) const;

 private:
  Moment begin_;
  double ns_per_tick_ = 1;
};

inline std::int64_t ticks_to_ns(std::uint64_t span) {
  return static_cast<std::int64_t>(static_cast<double>(span) * ns_per_tick());
}

/// Time between readings that may come from two cores, whose counters differ slightly; at least 0.
/// Units: nanoseconds.
inline std::int64_t span_ns(std::uint64_t begin, std::uint64_t end) {
  return end > begin ? ticks_to_ns(end - begin) : 0;
}

}  // namespace regatta
