// SPDX-License-Identifier: Apache-2.0
//
// Synchronous and asynchronous are properties of the graph: a loop is a weakly connected component
// of the placed graph. Edges and collectives connect, and so do the uses of a variable at one
// place; a variable that several places share does not connect them. Loops advance independently,
// each with its own count of steps.
#pragma once

#include <vector>

#include "kernels/graph/graph.h"

namespace regatta {

/// The loop of each node, numbered from 0 in order of first appearance.
std::vector<int> loops(const Graph& graph);

}  // namespace regatta
