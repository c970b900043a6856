// SPDX-License-Identifier: Apache-2.0
//
// Initial values of variables. Element i is a function of (seed, name, i) alone, so that it does
// not depend on strategy or place. The name is the variable's own, or that of the variable whose
// initial value it copies. A shard of a variable starts with the same elements as in the whole
// variable.
#pragma once

#include <cstdint>

#include "kernels/graph/graph.h"

namespace regatta {

/// Writes the variable's initial value to `destination`: f32, as many elements as the variable has.
void initialize(const Graph& graph, VariableId id, std::uint64_t seed, float* destination);

}  // namespace regatta
