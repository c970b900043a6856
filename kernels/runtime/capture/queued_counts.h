// SPDX-License-Identifier: Apache-2.0
//
// Staleness and age of a lane's updates, and the digest of its inputs, counted on the device by the
// kernels of a lane with a queue. The host reads the counts when the queue is finished. Only
// kernels of one queue, which run one after the other, write them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/runtime/kernel.h"
#include "kernels/runtime/measure/span_histogram.h"

namespace regatta {

/// The fields of LaneCounters (kernel.h) in plain arrays, in the device's memory.
struct QueuedCounts {
  std::uint64_t staleness[kStalenessCounts] = {};
  std::uint32_t ages[SpanHistogram::kBuckets] = {};
  std::int64_t age_sum_ns = 0;
  std::int64_t longest_age_ns = 0;
  std::uint64_t data_order = 0;
};

void add(const QueuedCounts& counts, std::vector<std::uint64_t>& staleness, SpanHistogram& age);

}  // namespace regatta
