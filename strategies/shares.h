// SPDX-License-Identifier: Apache-2.0
//
// Divides the state of summed replicas (summed_replicas.h): a replica has a share of each bucket,
// the elements that a ring completes there. An all_reduce becomes a reduce_scatter, parameters and
// slots become their parts in the share, updates work on these parts, and readers of a parameter
// read an all_gather. sharded.cpp documents when memory is freed. A strategy only marks the sums;
// apply() divides them after all strategies and bucket(), so that another strategy may still place
// the replicas like those of all_reduce, or replace a sum by an exchange of its own.
#pragma once

#include "kernels/graph/builder.h"
#include "kernels/graph/graph.h"

namespace regatta {

/// Memory that is freed before the step ends.
struct FreedEarly {
  bool gradients = false;
  bool parameters = false;  ///< the gathered ones
};

/// Marks the sums of a step; their algorithm must be ring.
Step to_share(const Step& replicas, const FreedEarly& freed_early);

bool is_to_share(const Node& node);

/// Returns the value that replaces `sum` after a rewrite replaced its exchange. `made`: the new
/// sum, equal at every worker. If `sum` was marked, a worker keeps only its share of `made`.
Value replacement_of(const Node& sum, Value made, Builder& builder);

/// Whether the node is a marked sum that replacement_of() made.
bool is_replaced(const Node& node);

/// Divides the marked sums; without marks the step is unchanged. `step`: after bucket().
Step apply_sharding(const Step& step);

}  // namespace regatta
