// SPDX-License-Identifier: Apache-2.0
//
// A loop is a weakly connected component of the placed graph: nodes that advance together, with
// their own count of steps. A synchronous strategy makes one loop, an asynchronous one several.
// Nodes are connected by edges, by collectives, and by use of the same variable at the same place;
// use of one variable at several places does not connect them.
#pragma once

#include <vector>

#include "kernels/graph/graph.h"

namespace regatta {

/// Returns the loop of each node, numbered from 0 in order of first appearance.
std::vector<int> loops(const Graph& graph);

/// Returns the model that each loop trains, numbered from 0 in order of first appearance. Loops
/// that share a variable train the same model; a loop that shares none trains a model of its own.
std::vector<int> models(const Graph& graph);

/// Whether loops update shared variables independently of each other (Sharing::Relaxed or Locked),
/// so that no loop's step count is that of the model. False under a quorum, where each update is a
/// step of all loops.
bool loops_step_apart(const Graph& graph);

}  // namespace regatta
