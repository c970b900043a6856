// SPDX-License-Identifier: Apache-2.0
//
// A straggler's delay. After each span of computing the lane pauses for (factor - 1) times that
// span, before others see its results. The lane measures these spans in any case, so a straggler
// computes exactly the same as without a delay. A delay is too long if the thread wakes late, and
// is left out if it is very short; the next one makes up for that. Over a run, compute time and
// delays together are `factor` times the compute time, to within the last delay's error.
// Threads: the lane.
#pragma once

#include <cstdint>

#include "kernels/runtime/kernel.h"

namespace regatta {

class ComputeDelay {
 public:
  /// `abort` ends a delay early; it outlives this.
  ComputeDelay(double factor, const AbortFlag* abort);

  /// Called right after a span of computing that ended at `end`. Returns the end of the delay.
  /// Units: ticks. Throws: Aborted.
  std::uint64_t after(std::uint64_t span, std::uint64_t end);
  /// Sum of all delays so far. Units: ticks.
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
