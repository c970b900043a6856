// SPDX-License-Identifier: Apache-2.0
//
// A loop is a weakly connected component of the placed graph: nodes that advance together, with
// their own count of steps. A synchronous strategy makes one loop, an asynchronous one several.
// Edges, collectives and uses of a variable at one place connect nodes; a variable that several
// places share does not.
#pragma once

#include <vector>

#include "kernels/graph/graph.h"

namespace regatta {

/// Returns the loop of each node, numbered from 0 in order of first appearance.
std::vector<int> loops(const Graph& graph);

/// Returns the model that each loop trains, numbered from 0 in order of first appearance. Loops
/// that share a variable train one model; a loop that shares none trains one of its own.
std::vector<int> models(const Graph& graph);

/// Whether loops update shared variables at any time; then no loop counts the steps of the model.
/// False under a quorum, where updates are steps of all loops.
bool loops_step_apart(const Graph& graph);

}  // namespace regatta
