// SPDX-License-Identifier: Apache-2.0
//
// The facts about a strategy that the harness needs, read from its placed graph, so that no file
// outside strategies/ depends on a strategy's name.
#pragma once

#include <cstdint>

#include "kernels/graph/graph.h"

namespace regatta {

struct StepFacts {
  bool sums_gradients = false;    ///< an all_reduce sums them
  bool carries_shares = false;    ///< a reduce_scatter or all_gather: each worker has a share
  bool shares_variables = false;  ///< replicas use common variables without order, outside servers
  bool shares_memory = false;     ///< not only in averages, which can be messages
  bool needs_the_host = false;    ///< a node is placed on the host
  bool exchanges_differ = false;  ///< some exchanges take place only in some steps
  bool has_quorum = false;        ///< a step needs only some of the replicas
  std::int64_t replicas = 1;      ///< including backup workers
  std::int64_t stages = 1;        ///< of each replica
  std::int64_t servers = 0;       ///< whether or not in processes of their own
};

/// `placed`: the whole step after the strategies' rewrites.
StepFacts facts_of(const Graph& placed);

}  // namespace regatta
