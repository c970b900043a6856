// SPDX-License-Identifier: Apache-2.0
//
// Divides the state of summed replicas (summed_replicas.h) for the strategy sharded: each replica
// keeps a share of each bucket, namely the elements that a ring completes at that replica.
// All_reduces become reduce_scatters; each replica stores and updates only its share of the
// parameters and slots; and nodes that use a parameter read the result of an all_gather.
// sharded.cpp documents when memory is freed. The strategy only marks the gradient sums; the pass
// `share` (passes.h) divides them after all strategies and bucket(). Until then, other strategies
// can rewrite these replicas like those of all_reduce, or replace a sum by another exchange.
#pragma once

#include "kernels/graph/builder.h"
#include "kernels/graph/graph.h"

namespace regatta::strategies {

/// The memory to free as soon as it is no longer needed, instead of at the end of the step.
struct FreedEarly {
  bool gradients = false;
  bool parameters = false;     ///< the gathered parameters
  bool after_forward = false;  ///< these also between forward and backward
};

/// Returns the step with its all_reduces marked for bucket(), so that a bucket ends where a block
/// of the model does. A block is all layers with one name before the first `.`; tied weights are in
/// the block that is first to read them.
Step in_units(const Step& replicas);

/// Returns the step with its gradient sums marked for apply_sharding(). Their algorithm must be
/// ring.
Step to_share(const Step& replicas, const FreedEarly& freed_early);

bool is_to_share(const Node& node);

/// Whether the node is a marked sum of gradients whose memory is freed early.
bool frees_gradients(const Node& node);

/// Returns the value that replaces the all_reduce `sum` when a rewrite substitutes another
/// exchange. `made` is the result of the new exchange, equal at every worker. If `sum` is marked,
/// returns a new marked sum, so that each worker keeps only its share of `made`; otherwise returns
/// `made`.
Value replacement_of(const Node& sum, Value made, Builder& builder);

/// Whether the node is a marked sum that replacement_of() appended.
bool is_replaced(const Node& node);

bool has_sums_to_share(const Graph& graph);

/// Returns the step with its marked sums, and the parameters and slots that belong to them, divided
/// into shares. Call it after bucket(). Precondition: has_sums_to_share().
Step apply_sharding(const Step& step);

}  // namespace regatta::strategies
