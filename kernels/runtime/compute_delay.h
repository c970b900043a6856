// SPDX-License-Identifier: Apache-2.0
//
// A straggler's delay. After each span of computing the lane stands still for (factor - 1) times
// that span, before others see its results. The lane measures these spans in any case, so that a
// straggler computes exactly what it would compute without a delay. Where one delay was too long or
// too short, because the thread woke late or because so short a one was left out, the next makes up
// for it: over a run compute time and delay together are `factor` times the compute time, to within
// the last delay's error.
// Threads: the lane.
#pragma once

#include <cstdint>

#include "kernels/runtime/kernel.h"

namespace regatta {

class ComputeDelay {
 public:
  /// `abort` ends a delay early; it outlives this.
  ComputeDelay(double factor, const AbortFlag* abort);

  /// To be called at once after a span of computing that ended at `end`. Returns when the delay
  /// ended. Units: ticks. Throws: Aborted.
  std::uint64_t after(std::uint64_t span, std::uint64_t end);
  /// All delays so far. Units: ticks.
  std::uint64_t total() const { return total_; }

 private:
  std::uint64_t wait_until(std::uint64_t end) const;

  double surplus_;  ///< factor - 1
  const AbortFlag* abort_;
  double ns_per_tick_;
  double owed_ = 0;  ///< ticks; below zero after delays that were too long
  std::uint64_t total_ = 0;
};

}  // namespace regatta
