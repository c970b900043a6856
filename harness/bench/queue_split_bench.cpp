// SPDX-License-Identifier: Apache-2.0
#include "harness/bench/queue_split_bench.h"

#include <algorithm>

#include "kernels/base/error.h"

namespace regatta::bench {
namespace {

/// The middle half of the steps by length; all of them if there are fewer than four.
std::vector<MeasuredStep> usual(std::vector<MeasuredStep> steps) {
  std::sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.ms < b.ms; });
  const auto quarter = static_cast<std::ptrdiff_t>(steps.size() / 4);
  return {steps.begin() + quarter, steps.end() - quarter};
}

/// Adds a step to the sums. Kernels of a queue run one after the other, but marks are rounded, so
/// one may seem to begin before the last has ended.
void add(const MeasuredStep& step, QueueSplit& sums) {
  check(step.kernels.size() == sums.kernel_ms.size(), "every step has the same kernels");
  double end = 0;
  for (std::size_t k = 0; k < step.kernels.size(); ++k) {
    const double begins = std::max(step.kernels[k].begin_ms, end);
    const double ends = std::max(step.kernels[k].end_ms, begins);
    sums.gap_ms[k] += begins - end;
    sums.gaps_ms += begins - end;
    sums.kernel_ms[k] += ends - begins;
    sums.kernels_ms += ends - begins;
    end = ends;
  }
  sums.step_ms += step.ms;
  sums.outside_ms += step.ms - end;
}

}  // namespace

QueueSplit split_of(std::vector<MeasuredStep> steps) {
  check(!steps.empty(), "a split is of steps that were measured");
  const std::vector<MeasuredStep> kept = usual(std::move(steps));
  QueueSplit split;
  split.kernel_ms.resize(kept.front().kernels.size());
  split.gap_ms.resize(kept.front().kernels.size());
  for (const MeasuredStep& step : kept) add(step, split);
  const auto count = static_cast<double>(kept.size());
  for (double* sum : {&split.step_ms, &split.kernels_ms, &split.gaps_ms, &split.outside_ms}) {
    *sum /= count;
  }
  for (double& sum : split.kernel_ms) sum /= count;
  for (double& sum : split.gap_ms) sum /= count;
  return split;
}

}  // namespace regatta::bench
