// SPDX-License-Identifier: Apache-2.0
//
// Splits the time of a step in one queue into three: kernels, each from its begin to its end by the
// device's clock; the gap before each kernel, in which the device waits for launches, other queues
// or the marks themselves; and the time outside, before the first kernel and after the last one.
//   step = kernels + gaps + outside, in every step and in the means
// Means are over the steps in the middle half of the distribution of step times. That excludes
// disturbed steps, and the equation still holds exactly.
#pragma once

#include <cstddef>
#include <vector>

namespace regatta::bench {

/// The begin and end of a kernel, relative to the begin of the step's first kernel. Units: ms.
struct KernelSpan {
  double begin_ms = 0;
  double end_ms = 0;
};

struct MeasuredStep {
  double ms = 0;                    ///< time of the step by the host's clock
  std::vector<KernelSpan> kernels;  ///< in the order of the queue
};

struct QueueSplit {
  double step_ms = 0;
  double kernels_ms = 0;
  double gaps_ms = 0;
  double outside_ms = 0;
  std::vector<double> kernel_ms;  ///< time of each kernel
  std::vector<double> gap_ms;     ///< before each kernel; 0 for the first
};

/// The mean split of one or more steps, which must have the same kernels.
QueueSplit split_of(std::vector<MeasuredStep> steps);

}  // namespace regatta::bench
