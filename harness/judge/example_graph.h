// SPDX-License-Identifier: Apache-2.0
//
// The graph that a strategy makes from a small step, as a picture for the report.
#pragma once

#include <string>

#include "strategies/strategy.h"

namespace regatta {

/// A step of the parabola for two workers (one under `single`) in the DOT language of Graphviz.
std::string example_graph(const Strategy& strategy);

}  // namespace regatta
