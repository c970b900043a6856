// SPDX-License-Identifier: Apache-2.0
//
// Staleness and age of a lane's updates, and the digest of its inputs, counted by the device in its
// own memory where kernels only enter a queue. The host reads the counts when the queue is
// finished. Threads: kernels of one queue, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/runtime/kernel.h"
#include "kernels/runtime/measure/span_histogram.h"

namespace regatta {

/// Fields of LaneCounters (kernel.h) in plain arrays.
struct QueuedCounts {
  std::uint64_t staleness[kStalenessCounts] = {};
  std::uint32_t ages[SpanHistogram::kBuckets] = {};
  std::int64_t age_sum_ns = 0;
  std::int64_t longest_age_ns = 0;
  std::uint64_t data_order = 0;
};

void add(const QueuedCounts& counts, std::vector<std::uint64_t>& staleness, SpanHistogram& age);

}  // namespace regatta
