// SPDX-License-Identifier: Apache-2.0
//
// All_reduces of a placed step whose algorithm is `auto`: it stays open until somebody who knows
// what messages cost picks one for each. No transport has such a sum.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/graph/collective.h"
#include "kernels/graph/graph.h"

namespace regatta {

struct OpenSum {
  CollectiveShape shape;      ///< all in one process; refers to the graph
  std::vector<Place> places;  ///< of the members, in their order
};

/// In the order of their groups.
std::vector<OpenSum> open_sums(const Graph& graph);

/// The step with an algorithm for each open sum, in their order.
/// Throws: RunError(Usage) where they are not as many.
Step with_algorithms(const Step& step, std::span<const std::string> picked);

}  // namespace regatta
