// SPDX-License-Identifier: Apache-2.0
//
// Divides a model among stages, in the order of its forward pass, either as the user requests or so
// that the most expensive stage is as cheap as possible. The model is divided into parts: a part is
// an op of a layer together with its backward nodes. Several ops form one part if otherwise the
// backward pass of one stage would have to wait for that of an earlier stage, as within a residual
// block.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta::strategies {

/// Divides a sequence of costs into `parts` contiguous, non-empty groups so that the most expensive
/// group is as cheap as possible. Element i of the result is the group of costs[i]. There must be
/// at least as many costs as parts.
std::vector<int> deal_in_order(const std::vector<std::int64_t>& costs, std::int64_t parts);

/// The chunk of each node and variable. With one chunk per stage, chunk numbers are stage numbers.
struct Stages {
  std::vector<int> of_node;  ///< `of_node[n]` is the chunk of node n; input nodes are in chunk 0
  std::vector<int> of_variable;  ///< `of_variable[v]` is the chunk of variable v
};

/// Divides a sequence of costs into stages * chunks contiguous, non-empty chunks, where chunk k
/// belongs to stage k modulo `stages`. Starts with deal_in_order() and moves single costs between
/// neighbouring chunks while that makes the most expensive stage cheaper. Element i of the result
/// is the chunk of costs[i].
std::vector<int> deal_in_turn(const std::vector<std::int64_t>& costs, std::int64_t stages,
                              std::int64_t chunks);

struct Division {
  std::int64_t stages = 1;
  std::int64_t chunks = 1;               ///< number of chunks of each stage
  std::vector<std::int64_t> parts = {};  ///< number of parts in each chunk; empty: chosen by cost
};

/// Returns the pass that the node belongs to: Forward also for a sum of activations, Backward also
/// for a sum of gradients; otherwise the node's phase.
Phase pass_of(const Graph& graph, const Node& node);

/// Divides the model into chunks of at least one part each; all replicas are divided in the same
/// way. `what` describes the strategy and its options in error messages. Throws: RunError(Usage) if
/// the model has fewer parts than chunks, if its number of parts is not the sum of
/// `division.parts`, or if the step already has stages.
Stages divide_model(const Graph& graph, const Division& division, std::string_view what);

}  // namespace regatta::strategies
