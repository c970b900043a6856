// SPDX-License-Identifier: Apache-2.0
//
// Averages of replicas that are in several processes. Where an `average` may draw a peer of another
// process, what its replica has read of the variable travels there in the steps of that draw,
// average_with makes the mean at the peer, and the mean travels back, to be assigned where the
// average stood. The peer's nodes belong to the replica's loop, at a place of their own
// (Role::Peer), so they wait for nothing that the peer does. The mean is that of an average in
// memory, as no other changes the variable of a replica that averages.
//
// The first process leads all loops, from one count of examples (gate.h). A replica elsewhere sends
// it the loss of each step; then it claims the replica's next one, which begins without waiting.
#pragma once

#include "kernels/graph/graph.h"
#include "kernels/graph/partition.h"

namespace regatta {

/// The step with such nodes; as it was where no average leaves a process.
/// Throws: RunError(Usage) if the stages of a replica are in several processes.
Step averages_between(const Step& step, const Binding& binding);

/// The binding, which knows the places of peers as well.
Binding with_peers(const Binding& binding);

}  // namespace regatta
