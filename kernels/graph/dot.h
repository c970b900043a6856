// SPDX-License-Identifier: Apache-2.0
//
// A graph as a picture for Graphviz, as textbooks draw it: one box for each layer, phase and place,
// cylinders for its variables, a cluster for each place, and bold red edges, labelled with bytes,
// for values that are sent from one place to another. The step must be placed and not yet
// partitioned.
//
// A value has one edge per place that uses it, to the first node that uses it there. Optimizer
// slots are left out. Variables that replicas share in memory form a separate cluster.
#pragma once

#include <string>

#include "kernels/graph/graph.h"

namespace regatta {

std::string to_dot(const Graph& graph);

}  // namespace regatta
