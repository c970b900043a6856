// SPDX-License-Identifier: Apache-2.0
//
// A graph as text: one line for each variable or node, in the order of the graph:
//   variable hidden.weight f32[5,1] parameter normal(1) @replica0
//   %4 = tanh(%3) f32[50,5] @replica0 forward hidden
//   %9 = sgd(%8; hidden.weight, hidden.weight.velocity) {momentum=0, ...} @replica0 update hidden
#pragma once

#include <string>

#include "kernels/graph/graph.h"

namespace regatta {

std::string to_text(const Graph& graph);

/// Returns the 64-bit FNV-1a hash of to_text(graph); equal graphs have equal hashes.
std::uint64_t hash(const Graph& graph);

}  // namespace regatta
