// SPDX-License-Identifier: Apache-2.0
//
// Clocks. Spans inside a step are measured with the processor's time stamp counter on x86-64, which
// is assumed to be invariant (about 8 ns per reading), everything else with the steady clock.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace regatta {

/// Returns the steady clock's time. Units: nanoseconds.
inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Reads the time stamp counter. Units: ticks; see ns_per_tick().
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(now_ns());
#endif
}

/// Returns the nanoseconds per tick, calibrated against the steady clock over 20 ms at the first
/// call.
double ns_per_tick();

/// A reading of both clocks at the same time.
struct Moment {
  std::int64_t ns = 0;
  std::uint64_t ticks = 0;
};

Moment moment();

/// Converts ticks between two moments to the steady clock's time by interpolation, which is
/// monotonic. ns_per_tick() would not do: it is calibrated over only 20 ms and would drift away
/// from the steady clock over a run.
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

/// Returns the time between two readings of ticks(); 0 if `end` is before `begin`, as may happen
/// for readings on two cores whose counters differ slightly. Units: nanoseconds.
inline std::int64_t span_ns(std::uint64_t begin, std::uint64_t end) {
  return end > begin ? ticks_to_ns(end - begin) : 0;
}

}  // namespace regatta
