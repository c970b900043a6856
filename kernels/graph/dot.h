// SPDX-License-Identifier: Apache-2.0
//
// A graph as a picture for Graphviz, as textbooks draw it: boxes for what a layer computes in one
// phase at one place, cylinders for its variables, a cluster for each place, bold red edges for
// what crosses places, with its bytes. Made for a placed step that is not partitioned yet.
//
// A value is drawn to its first user at each place only: what comes after has it already. Slots of
// optimizers are left out. Variables that replicas share in memory have a cluster of their own.
#pragma once

#include <string>

#include "kernels/graph/graph.h"

namespace regatta {

std::string to_dot(const Graph& graph);

}  // namespace regatta
