// SPDX-License-Identifier: Apache-2.0
//
// Divides what summed replicas (summed_replicas.h) keep: of each bucket a replica has a share, the
// elements whose sums a ring completes there. An all_reduce becomes a reduce_scatter, parameters
// and slots become the share's parts of them, updates those of these parts, and what reads a
// parameter reads it from an all_gather. sharded.cpp says what is freed when. A strategy marks what
// is to be divided; apply() divides it behind all strategies and bucket(), so that another strategy
// may place the replicas meanwhile as it places those of all_reduce, or make a sum by an exchange
// of its own.
#pragma once

#include "kernels/graph/builder.h"
#include "kernels/graph/graph.h"

namespace regatta {

/// What does not stay until the step ends.
struct Frees {
  bool gradients = false;
  bool parameters = false;  ///< those that were gathered
};

/// Marks the sums of a step, which are of a ring.
Step to_share(const Step& replicas, const Frees& frees);

bool is_to_share(const Node& node);

/// What a rewrite puts in the place of a sum whose exchange it replaces. `made`: that sum, the same
/// at every worker. Where the sum was marked, a worker keeps its share of what was made.
Value in_place_of(const Node& sum, Value made, Builder& builder);

/// Whether a marked sum is one that was made so.
bool is_made(const Node& node);

/// `step`: after bucket(). Without a mark it stays as it is.
Step shared_out(const Step& step);

}  // namespace regatta
