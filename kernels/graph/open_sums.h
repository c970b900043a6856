// SPDX-License-Identifier: Apache-2.0
//
// The open sums of a placed step: all_reduces with the algorithm `auto`, which no transport
// implements. A caller that knows the costs of messages chooses an algorithm for each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/graph/collective.h"
#include "kernels/graph/graph.h"

namespace regatta {

struct OpenSum {
  CollectiveShape shape;      ///< as if all members were in one process; the graph must outlive it
  std::vector<Place> places;  ///< `places[m]` is the place of member m
};

/// Returns the open sums, ordered by group number.
std::vector<OpenSum> open_sums(const Graph& graph);

/// Returns the step in which open sum i has the algorithm `picked[i]`. Throws: RunError(Usage) if
/// there are not as many algorithms as open sums.
Step with_algorithms(const Step& step, std::span<const std::string> picked);

}  // namespace regatta
