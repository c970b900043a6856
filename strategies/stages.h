// SPDX-License-Identifier: Apache-2.0
//
// Divides a model, in the order of its forward pass, among stages so that the most expensive stage
// is as cheap as possible. A part of the model, which no stage divides, is an op of a layer with
// its backward nodes; what a backward pass would need from an earlier stage's backward pass, as
// within a residual block, is one part.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta {

/// The part of each cost: contiguous, the most expensive part as cheap as possible, none empty.
/// `parts`: at most as many as costs.
std::vector<int> deal_in_order(const std::vector<std::int64_t>& costs, std::int64_t parts);

struct Stages {
  std::vector<int> of_node;      ///< by node; that of an input is 0
  std::vector<int> of_variable;  ///< by variable
};

/// Every stage has a part. All replicas are divided alike.
/// `what`: the strategy and its options, for error messages.
/// Throws: RunError(Usage) when the model has fewer parts than stages, or has stages already.
Stages divide_model(const Graph& graph, std::int64_t stages, std::string_view what);

}  // namespace regatta
