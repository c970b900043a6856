// SPDX-License-Identifier: Apache-2.0
//
// The initial value of a variable: element i is a function of (seed, name, i), independent of
// strategy and place. The name is the variable's own or that of the one whose first value it
// copies. A part of a variable starts with the same elements as that part of the whole.
#pragma once

#include <cstdint>

#include "kernels/graph/graph.h"

namespace regatta {

/// Fills `destination` (f32, as many elements as the variable has).
void initialize(const Graph& graph, VariableId id, std::uint64_t seed, float* destination);

}  // namespace regatta
