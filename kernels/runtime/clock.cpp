// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/clock.h"

namespace regatta {

double ns_per_tick() {
  static const double ratio = [] {
    const std::int64_t begin_ns = now_ns();
    const std::uint64_t begin = ticks();
    while (now_ns() - begin_ns < 20'000'000) {
    }
    return static_cast<double>(now_ns() - begin_ns) / static_cast<double>(ticks() - begin);
  }();
  return ratio;
}

}  // namespace regatta
