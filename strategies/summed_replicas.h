// SPDX-License-Identifier: Apache-2.0
//
// Replicas that own their parameters and apply the same sum of all gradients, which a collective
// leaves at each of them: what all_reduce is, and what sharded divides.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/graph/graph.h"
#include "strategies/summing.h"

namespace regatta {

struct SummedReplicas {
  std::int64_t count = 1;
  Summing summing;
  std::string_view strategy;  ///< for error messages
};

/// Gradients come last layer first, as backward makes them, each in a collective of its own.
/// Throws: RunError(Usage) as Replicas does.
Step summed_replicas(const Step& step, const SummedReplicas& wanted);

}  // namespace regatta
