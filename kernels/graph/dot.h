// SPDX-License-Identifier: Apache-2.0
//
// A graph as a picture for Graphviz, as textbooks draw it: one box for each layer, phase and place,
// cylinders for its variables, a cluster for each place, and bold red edges, labelled with bytes,
// for values that cross places. The step must be placed and not yet partitioned.
//
// Each value has one edge to each place, to its first user there. Optimizer slots are left out.
// Variables that replicas share in memory have a cluster of their own.
#pragma once

#include <string>

#include "kernels/graph/graph.h"

namespace regatta {

std::string to_dot(const Graph& graph);

}  // namespace regatta
