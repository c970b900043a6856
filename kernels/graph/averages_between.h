// SPDX-License-Identifier: Apache-2.0
//
// Averages of replicas that are in several processes. An `average` draws one peer in each step. In
// the steps that draw a peer of another process, the replica sends it the value it has read of the
// variable, average_with computes the mean at the peer, and the mean travels back to be assigned
// in place of the `average`. The peer's nodes belong to the replica's loop, at a place of their own
// (Role::Peer), so they wait for no node of the peer. The mean equals that of an average in memory,
// because no other replica changes the variable of a replica that averages.
//
// Process 0 leads all loops, from one count of examples (gate.h). A replica of another process
// sends it the loss of each step, then claims its next step, which begins without waiting.
#pragma once

#include "kernels/graph/graph.h"
#include "kernels/graph/partition.h"

namespace regatta {

/// Returns the step with such nodes; an equal step if no average crosses processes.
/// Throws: RunError(Usage) if the stages of a replica are in several processes.
Step averages_between(const Step& step, const Binding& binding);

/// Returns a binding that also binds the places of peers.
Binding with_peers(const Binding& binding);

}  // namespace regatta
