// SPDX-License-Identifier: Apache-2.0
//
// Assigns memory to values. Each lane has an arena; two values of a lane share bytes if the first
// is dead before the second is made. A value that another lane reads is dead once its own lane
// knows that the read has happened: from the counters that it has waited for, and those that the
// lanes behind them had waited for. If it never knows, the value stays until the step ends.
// The inputs of an all_reduce form one contiguous bucket that is reduced in place; so do those of a
// reduce_scatter, whose bucket is free again when the lane that made it has waited for the sums and
// used them. The outputs of an all_gather form a bucket, too, which is kept for a diagnosis unless
// the node has the attribute `frees`.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/plan.h"

namespace regatta {

struct MemoryPlan {
  struct Address {
    int lane = 0;
    std::int64_t offset = 0;
  };
  std::map<Value, Address> addresses;     ///< of every value that owns memory
  std::vector<std::int64_t> arena_bytes;  ///< by lane
  std::int64_t sum_of_values = 0;         ///< without sharing. Units: bytes
};

MemoryPlan plan_memory(const Graph& graph, const Plan& plan);

/// Bytes of the variables and values of each place.
std::map<Place, std::int64_t> planned_bytes(const Graph& graph, const Plan& plan,
                                            const MemoryPlan& memory);

}  // namespace regatta
