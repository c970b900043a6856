// SPDX-License-Identifier: Apache-2.0
//
// Reverse-mode differentiation: appends the backward nodes of a loss to the graph.
#pragma once

#include <span>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta {

/// Appends backward nodes and returns d loss / d value for each value in `with_respect_to`. `loss`
/// must be output 0 of a loss op. Backward nodes keep the place and layer of their forward node; if
/// several nodes use a value, the gradients from those uses are added, the last use first. Aborts
/// if a value does not influence the loss through differentiable ops.
std::vector<Value> gradient(Graph& graph, Value loss, std::span<const Value> with_respect_to);

}  // namespace regatta
