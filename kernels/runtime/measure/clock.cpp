// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/measure/clock.h"

#include <limits>

namespace regatta {
namespace {

struct Moment {
  std::int64_t ns = 0;
  std::uint64_t ticks = 0;
};

/// Both clocks at once: of several looks the one that took least, as a thread may lose its core
/// between two readings.
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

}  // namespace

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
