// SPDX-License-Identifier: Apache-2.0
//
// Averages between replicas in different processes. An `average` node draws one peer replica in
// each step. In the steps that draw a peer in another process, the replica sends the value of its
// variable to the peer, an average_with node there computes the mean, and the mean is sent back and
// assigned in place of the `average`. The nodes at the peer belong to the replica's loop and have a
// separate place (Role::Peer), so they do not wait for the peer's own nodes. The mean equals that
// of an `average` in shared memory, because no other replica changes the variable of a replica that
// has an `average` node.
//
// Process 0 leads all loops with a single count of examples (gate.h). A replica in another process
// sends process 0 the loss of each step, then claims its next step, which begins without waiting.
#pragma once

#include "kernels/distribute/partition.h"
#include "kernels/graph/graph.h"

namespace regatta {

/// Whether an `average` node has variables in several processes.
bool averages_leave_a_process(const Graph& graph, const Binding& binding);

/// Returns the step with each `average` between processes replaced by nodes at both replicas.
/// Throws: RunError(Usage) if the stages of a replica are in several processes.
Step averages_between(const Step& step, const Binding& binding);

/// Returns a binding that also binds places with Role::Peer: each to the process of the peer's
/// replica.
Binding with_peers(const Binding& binding);

}  // namespace regatta
