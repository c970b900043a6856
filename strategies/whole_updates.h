// SPDX-License-Identifier: Apache-2.0
//
// Assigns updates of whole matrices, such as muon, which cannot be divided among workers. The
// strategy sharded gives each, with its parameter and slots, to one replica, with bytes as even as
// whole matrices allow. This owner sums the gradients of all replicas, in their order, and updates;
// the others read its parameter. Each of n workers then sends and receives about 2 (n - 1) / n M a
// step, as with shares.
#pragma once

#include "kernels/graph/graph.h"

namespace regatta::strategies {

/// Whether an update of the trainable cannot be divided by elements.
bool updates_whole(const Graph& graph, const Trainable& trainable);

/// Whether a marked sum (shares.h) adds up gradients of a trainable that updates_whole().
bool has_whole_updates_to_deal(const Step& step);

/// Assigns the whole updates to the places that have the sums, and returns the new step. Call it
/// before bucket(), which would put these sums into buckets with others.
Step deal_whole_updates(const Step& step);

}  // namespace regatta::strategies
