// SPDX-License-Identifier: Apache-2.0
//
// What the harness needs to know of a strategy, read from the graph that it made: no file outside
// of strategies/ asks for a strategy's name.
#pragma once

#include <cstdint>

#include "kernels/graph/graph.h"

namespace regatta {

struct StepFacts {
  bool sums_gradients = false;    ///< by a collective of all replicas
  bool shares_variables = false;  ///< replicas touch one copy at any time, outside of servers
  bool needs_the_host = false;    ///< a place is the host's, beside the replicas'
  bool has_quorum = false;        ///< servers wait for some of the replicas
  std::int64_t replicas = 1;      ///< that compute, backup workers with them
  std::int64_t servers = 0;       ///< that hold parameters, in whichever process
};

/// `placed`: the whole step, as strategies have rewritten it.
StepFacts facts_of(const Graph& placed);

}  // namespace regatta
