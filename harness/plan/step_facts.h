// SPDX-License-Identifier: Apache-2.0
//
// Reads the facts about a strategy that the harness needs from the placed graph, so that no file
// outside strategies/ depends on a strategy's name.
#pragma once

#include <cstdint>

#include "kernels/graph/graph.h"

namespace regatta::plan {

/// Facts about a placed step.
struct StepFacts {
  bool sums_gradients = false;    ///< the step has an all_reduce
  bool sums_tensors = false;      ///< an all_reduce of more than one number (a norm is one)
  bool carries_shares = false;    ///< the step has a reduce_scatter or all_gather
  bool shares_variables = false;  ///< replicas share variables that are at a worker
  bool shares_memory = false;     ///< a worker uses another's variables, and not only in averages
  bool needs_the_host = false;    ///< some node is placed on the host
  bool exchanges_differ = false;  ///< not all exchanges take place in the same steps
  bool has_quorum = false;        ///< a step uses only the first gradients to arrive
  std::int64_t replicas = 1;      ///< number of replicas, with backup workers
  std::int64_t stages = 1;        ///< number of stages per replica
  std::int64_t shards = 1;        ///< number of shards per stage
  std::int64_t servers = 0;       ///< number of servers, including those in workers' processes
};

/// Reads the facts from the whole step after the strategies' rewrites. Replicas and shards that are
/// not built count.
StepFacts facts_of(const Step& step);

}  // namespace regatta::plan
