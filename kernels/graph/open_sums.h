// SPDX-License-Identifier: Apache-2.0
//
// All_reduces of a placed step with the algorithm `auto`: a caller with costs of messages chooses
// one for each. No transport implements `auto`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/graph/collective.h"
#include "kernels/graph/graph.h"

namespace regatta {

struct OpenSum {
  CollectiveShape shape;      ///< all members in one process; refers to the graph
  std::vector<Place> places;  ///< place of each member, in their order
};

/// Returns the open sums in the order of their groups.
std::vector<OpenSum> open_sums(const Graph& graph);

/// Returns the step with one of `picked` for each open sum, in their order. Throws: RunError(Usage)
/// if their numbers differ.
Step with_algorithms(const Step& step, std::span<const std::string> picked);

}  // namespace regatta
