// SPDX-License-Identifier: Apache-2.0
//
// Divides a model, in the order of its forward pass, among stages so that the most expensive stage
// is as cheap as possible, or as its user says. A part of the model, which no stage divides, is an
// op of a layer with its backward nodes; what a backward pass would need from an earlier stage's
// backward pass, as within a residual block, is one part.
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

/// The part of each cost: contiguous, the most expensive part as cheap as possible, none empty.
/// `parts`: at most as many as costs.
std::vector<int> deal_in_order(const std::vector<std::int64_t>& costs, std::int64_t parts);

/// Of stages with one chunk each, their numbers.
struct Stages {
  std::vector<int> of_node;      ///< the chunk, by node; that of an input is 0
  std::vector<int> of_variable;  ///< the chunk, by variable
};

/// The chunk of each cost, where chunk k is of stage k modulo `stages`: contiguous, the most
/// expensive stage as cheap as moving single costs between neighbours makes it, none empty.
std::vector<int> deal_in_turn(const std::vector<std::int64_t>& costs, std::int64_t stages,
                              std::int64_t chunks);

struct Division {
  std::int64_t stages = 1;
  std::int64_t chunks = 1;               ///< of each stage, in turn
  std::vector<std::int64_t> parts = {};  ///< of each chunk; empty: as the costs of nodes say
};

/// Throws: RunError(Usage) when the step has stages already.
void require_no_stages(const Graph& graph, std::string_view what);

/// Every chunk has a part. All replicas are divided alike.
/// `what`: the strategy and its options, for error messages.
/// Throws: RunError(Usage) when the model has fewer parts than chunks, other parts than given, or
/// stages already.
Stages divide_model(const Graph& graph, const Division& division, std::string_view what);

/// Which part of a model a node of it belongs to, in any graph made of that model.
class ModelParts {
 public:
  explicit ModelParts(const Graph& model);
  std::int64_t count() const { return count_; }
  /// Of a node that computes in a forward or backward pass; empty of others, and of sums and casts
  /// of gradients.
  std::optional<std::int64_t> find(const Node& node) const;

 private:
  std::map<std::pair<std::string, Op>, std::int64_t> numbers_;  ///< by layer and forward op
  std::int64_t count_ = 0;
};

}  // namespace regatta
