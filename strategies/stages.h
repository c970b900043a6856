// SPDX-License-Identifier: Apache-2.0
//
// Divides a model, in the order of its forward pass, among stages so that the most expensive stage
// is as cheap as possible, or as the user requests. A part of the model, which no stage divides, is
// an op of a layer with its backward nodes. Ops form one part if a backward pass of theirs would
// otherwise need an earlier stage's, as within a residual block.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta {

/// Returns the part of each cost: contiguous, the most expensive part as cheap as possible, none
/// empty. `parts`: at most as many as costs.
std::vector<int> deal_in_order(const std::vector<std::int64_t>& costs, std::int64_t parts);

/// Chunks of nodes and variables; with one chunk a stage, the numbers of stages.
struct Stages {
  std::vector<int> of_node;      ///< the chunk, by node; that of an input is 0
  std::vector<int> of_variable;  ///< the chunk, by variable
};

/// Returns the chunk of each cost, where chunk k belongs to stage k modulo `stages`: contiguous,
/// none empty, the most expensive stage as cheap as moving single costs between neighbours makes
/// it.
std::vector<int> deal_in_turn(const std::vector<std::int64_t>& costs, std::int64_t stages,
                              std::int64_t chunks);

struct Division {
  std::int64_t stages = 1;
  std::int64_t chunks = 1;               ///< chunks of each stage, in turn
  std::vector<std::int64_t> parts = {};  ///< number of parts in each chunk; empty: chosen by the
                                         ///< costs of nodes
};

/// Throws: RunError(Usage) if the step already has stages.
void require_no_stages(const Graph& graph, std::string_view what);

/// Divides the model into chunks of at least one part each. All replicas are divided alike. `what`:
/// the strategy and its options, for error messages. Throws: RunError(Usage) if the model has fewer
/// parts than chunks, a number of parts that differs from the given ones, or stages already.
Stages divide_model(const Graph& graph, const Division& division, std::string_view what);

/// The part of a model to which a node belongs, in any graph made from that model.
class ModelParts {
 public:
  explicit ModelParts(const Graph& model);
  std::int64_t count() const { return count_; }
  /// Returns the part of a node of a forward or backward pass; empty for other nodes, and for sums
  /// and casts of gradients.
  std::optional<std::int64_t> find(const Node& node) const;

 private:
  std::map<std::pair<std::string, Op>, std::int64_t> numbers_;  ///< by layer and forward op
  std::int64_t count_ = 0;
};

}  // namespace regatta
