// SPDX-License-Identifier: Apache-2.0
//
// Splits the time of a step in one queue: each kernel from its begin to its end by the device's
// clock, the gap before each (the device waits for launches, other queues or the marks themselves),
// and the time outside, before the first kernel begins and after the last one ends.
//   step = kernels + gaps + outside, in every step and in the means
// Means are over the middle half of the steps by length: that leaves out disturbed steps and keeps
// the sum exact.
#pragma once

#include <cstddef>
#include <vector>

namespace regatta {

/// A kernel's time span, from the begin of its step's first kernel. Units: ms.
struct KernelSpan {
  double begin_ms = 0;
  double end_ms = 0;
};

struct MeasuredStep {
  double ms = 0;                    ///< by the host's clock
  std::vector<KernelSpan> kernels;  ///< in the order of the queue
};

struct QueueSplit {
  double step_ms = 0;
  double kernels_ms = 0;
  double gaps_ms = 0;
  double outside_ms = 0;
  std::vector<double> kernel_ms;  ///< by kernel
  std::vector<double> gap_ms;     ///< before each kernel; 0 for the first
};

/// The split of one or more steps with the same kernels.
QueueSplit split_of(std::vector<MeasuredStep> steps);

}  // namespace regatta
