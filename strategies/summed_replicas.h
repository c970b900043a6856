// SPDX-License-Identifier: Apache-2.0
//
// Replicas that own their parameters and apply the same sum of all gradients, which a collective
// computes at each of them: this is all_reduce; sharded divides its state.
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

/// Sums gradients last layer first, in the order in which backward makes them, each in a collective
/// of its own. Throws: RunError(Usage) like Replicas.
Step summed_replicas(const Step& step, const SummedReplicas& wanted);

}  // namespace regatta
