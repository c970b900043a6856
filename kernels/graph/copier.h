// SPDX-License-Identifier: Apache-2.0
//
// Copies nodes from one graph into another, as most rewrites do, and records the target's value or
// variable that replaces each one of the source.
#pragma once

#include <vector>

#include "kernels/graph/graph.h"

namespace regatta {

class Copier {
 public:
  explicit Copier(const Graph& source);

  /// Maps a value or variable of the source to one of the target.
  void map(Value from, Value to) { values_[slot(from)] = to; }
  void map_variable(VariableId from, VariableId to) {
    variables_.at(static_cast<std::size_t>(from)) = to;
  }

  bool knows(Value from) const;
  /// Returns the target's value or variable that replaces `from`. Aborts if `from` is not mapped.
  Value value(Value from) const;
  VariableId variable(VariableId from) const;

  /// Returns the source's node `id` with its inputs and variables replaced by those of the target.
  Node translate(NodeId id) const;
  /// Appends the translated node to `target` and maps its outputs.
  NodeId copy(NodeId id, Graph& target);
  /// Copies all variables unchanged to `target`, which must have none.
  void copy_variables(Graph& target);
  /// Replaces the source's values, variables and updates with their copies, in the losses and
  /// trainables of `step`, which must be a copy of the source's step.
  void rename(Step& step) const;
  /// Maps all outputs of a source node to those of a target node.
  void map_outputs(NodeId from, NodeId to);

 private:
  std::size_t slot(Value from) const;

  const Graph& source_;
  /// `first_[n]` is the index in values_ of node n's first output.
  std::vector<std::size_t> first_;
  std::vector<Value> values_;
  std::vector<VariableId> variables_;
  std::vector<NodeId> copies_;  ///< `copies_[n]` is the node that copy() appended for node n
};

}  // namespace regatta
