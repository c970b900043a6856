// SPDX-License-Identifier: Apache-2.0
//
// Divides the layers of a model, in order, among stages so that the most expensive stage is as
// cheap as possible.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "kernels/graph/graph.h"

namespace regatta {

/// The stage of each layer, ascending in the order of the forward pass. Every stage has a layer.
/// `what`: the strategy and its options, for error messages.
/// Throws: RunError(Usage) when the model has fewer layers than stages, or has stages already.
std::map<std::string, int> stages_of_layers(const Graph& graph, std::int64_t stages,
                                            std::string_view what);

}  // namespace regatta
