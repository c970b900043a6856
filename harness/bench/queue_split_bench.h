// SPDX-License-Identifier: Apache-2.0
//
// Where the time of a step goes that a lane has put into one queue: each kernel from its begin to
// its end by the device's clock, the gap before each (the device had nothing to do: launches,
// waits, the marks themselves), and what is outside, before the first kernel begins and after the
// last one ends.
//   step = kernels + gaps + outside, in every step and in the means
// Means are over the steps of the middle half by length, which leaves out steps that something
// disturbed, and keeps the sum.
#pragma once

#include <cstddef>
#include <vector>

namespace regatta {

/// When a kernel ran, since the first kernel of its step began. Units: ms.
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
  std::vector<double> gap_ms;     ///< before each; the first has none
};

/// Of steps with the same kernels, one at least.
QueueSplit split_of(std::vector<MeasuredStep> steps);

}  // namespace regatta
