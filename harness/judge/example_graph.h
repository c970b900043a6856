// SPDX-License-Identifier: Apache-2.0
//
// The graph that a strategy makes from a small step, as a picture for the report.
#pragma once

#include <string>

#include "strategies/strategy.h"

namespace regatta::judge {

/// Formats a step of the workload `parabola`, or of one layer of `gpt_tiny` if the strategy needs
/// sequences, in the DOT language of Graphviz. It has two workers, or one under `single`.
std::string example_graph(const strategies::Strategy& strategy);

}  // namespace regatta::judge
