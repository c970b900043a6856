// SPDX-License-Identifier: Apache-2.0
//
// Data-parallel replicas that each hold all parameters and apply the same gradient sum, which a
// collective delivers to every replica. This is the whole of the strategy all_reduce; the strategy
// sharded divides the state of such replicas (shares.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/graph/graph.h"

namespace regatta::strategies {

struct SummedReplicas {
  std::int64_t count = 1;
  std::int64_t alike = 1;     ///< as in ReplicaOptions
  std::string algorithm;      ///< algorithm of the all_reduces
  std::string_view strategy;  ///< for error messages
};

/// Returns the step with replicas. Gradients are summed in the order in which the backward pass
/// computes them, last layer first, each by a separate collective. Throws: RunError(Usage) in the
/// same cases as Replicas.
Step summed_replicas(const Step& step, const SummedReplicas& wanted);

}  // namespace regatta::strategies
