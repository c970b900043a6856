// SPDX-License-Identifier: Apache-2.0
//
// Assigns memory to values. Each lane has an arena; two values of a lane share bytes if the first
// is dead before the second is made. A value that another lane reads is dead once the waits between
// lanes guarantee that the read has happened: a wait of its own lane, directly or through the waits
// of other lanes. Without such a guarantee the value stays until the step ends. The inputs of an
// all_reduce or a reduce_scatter form one contiguous bucket, which is reduced in place. It is free
// again when the lane that made it has waited for the sums and used them: a collective returns when
// no other member reads the bucket any more. The outputs of an all_gather also form a bucket; it is
// kept for the diagnosis of a loss that is not finite, unless the node has the attribute `frees`.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/plan.h"

namespace regatta {

/// The purposes of planned memory. Units: bytes. Values are counted at the instruction with the
/// most bytes alive in their lane.
struct MemoryUse {
  std::int64_t parameters = 0;   ///< including running statistics
  std::int64_t slots = 0;        ///< optimizer state
  std::int64_t activations = 0;  ///< values of the forward pass, and those computed again
  std::int64_t gradients = 0;    ///< other values of the backward pass
  std::int64_t others = 0;       ///< inputs, values of updates, values that travel, gaps

  std::int64_t sum() const { return parameters + slots + activations + gradients + others; }
  void add(const MemoryUse& other);
};

struct MemoryPlan {
  struct Address {
    int lane = 0;
    std::int64_t offset = 0;
  };
  std::map<Value, Address> addresses;     ///< one for every value that owns memory
  std::vector<std::int64_t> arena_bytes;  ///< entry i is the size of lane i's arena
  std::vector<MemoryUse> arena_use;       ///< entry i splits arena_bytes[i] by purpose
  std::int64_t sum_of_values = 0;         ///< size of all values without sharing. Units: bytes
};

/// Plans memory for the values and, as long as each lives, for the bytes that a kernel keeps
/// `beside` it.
MemoryPlan plan_memory(const Graph& graph, const Plan& plan,
                       const std::map<Value, std::int64_t>& beside = {});

/// Returns the memory of the variables and values of each place.
std::map<Place, MemoryUse> planned_memory(const Graph& graph, const Plan& plan,
                                          const MemoryPlan& memory);

}  // namespace regatta
