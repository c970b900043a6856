// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/measure/clock.h"

#include <cmath>
#include <limits>

namespace regatta {
/// Keeps the fastest of several readings, as a thread may lose its core between the two clocks.
Moment moment() {
  Moment best;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (int look = 0; look < 8; ++look) {
    const std::uint64_t before = ticks();
    const std::int64_t ns = now_ns();
    const std::uint64_t after = ticks();
    if (after - before >= least) continue;
    least = after - before;
    best = {.ns = ns, .ticks = before + least / 2};
  }
  return best;
}

TickMap::TickMap(const Moment& begin, const Moment& end)
    : begin_(begin),
      ns_per_tick_(end.ticks > begin.ticks ? static_cast<double>(end.ns - begin.ns) /
                                                 static_cast<double>(end.ticks - begin.ticks)
                                           : ns_per_tick()) {}

std::int64_t TickMap::ns(std::uint64_t ticks) const {
  const auto since = static_cast<std::int64_t>(ticks - begin_.ticks);
  return begin_.ns + std::llround(static_cast<double>(since) * ns_per_tick_);
}

double ns_per_tick() {
  static const double ratio = [] {
    const Moment begin = moment();
    while (now_ns() - begin.ns < 20'000'000) {
    }
    const Moment end = moment();
    return static_cast<double>(end.ns - begin.ns) / static_cast<double>(end.ticks - begin.ticks);
  }();
  return ratio;
}

}  // namespace regatta
