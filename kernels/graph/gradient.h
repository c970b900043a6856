// SPDX-License-Identifier: Apache-2.0
//
// Reverse-mode differentiation: appends the backward nodes of a loss to the graph.
#pragma once

#include <span>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta {

/// Appends backward nodes and returns d loss / d value for each of `with_respect_to`. `loss` is
/// output 0 of a loss op. Backward nodes keep the place and layer of their forward node; the
/// gradients of a value that is used several times are added in order of use, last use first.
/// Throws: aborts if a value does not influence the loss through differentiable ops.
std::vector<Value> gradient(Graph& graph, Value loss, std::span<const Value> with_respect_to);

}  // namespace regatta
