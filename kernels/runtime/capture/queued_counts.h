// SPDX-License-Identifier: Apache-2.0
//
// What the updates of one lane measure where kernels only enter a queue: by the device itself, when
// it gets to them, into its memory. The host reads it when the queue is finished.
// Threads: kernels of one queue, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/runtime/kernel.h"
#include "kernels/runtime/measure/span_histogram.h"

namespace regatta {

/// As LaneCounters' of the same names.
struct QueuedCounts {
  std::uint64_t staleness[kStalenessCounts] = {};
  std::uint32_t ages[SpanHistogram::kBuckets] = {};
  std::int64_t age_sum_ns = 0;
  std::int64_t longest_age_ns = 0;
};

void add(const QueuedCounts& counts, std::vector<std::uint64_t>& staleness, SpanHistogram& age);

}  // namespace regatta
