// SPDX-License-Identifier: Apache-2.0
//
// Slows a worker down artificially, to simulate a straggler. After each span of computing its lane
// pauses for (factor - 1) times that span, before others see the results. The lane measures these
// spans in any case, so a straggler computes exactly the same as without a delay. A delay is too
// long if the thread wakes late, and is skipped if it is below 1 us; the next delay compensates
// for both. Over a run, compute time plus delays is `factor` times the compute time, to within the
// error of the last delay. Threads: used only from the lane's thread.
#pragma once

#include <cstdint>

#include "kernels/runtime/kernel.h"

namespace regatta {

class ComputeDelay {
 public:
  /// `factor` is the slowdown, at least 1. Raising `abort` ends a delay early; the flag must
  /// outlive this object, and null means none.
  ComputeDelay(double factor, const AbortFlag* abort);

  /// Pauses after a span of computing that took `span` and ended at `end`. Returns the time at
  /// which the pause ended. Units: ticks. Throws: Aborted.
  std::uint64_t after(std::uint64_t span, std::uint64_t end);
  /// Returns the sum of all delays so far. Units: ticks.
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
