// SPDX-License-Identifier: Apache-2.0
//
// How a graph holds its nodes and variables. Those of replicas differ in little: what they have in
// common is held once, over all graphs, and numbers of nodes and variables in it count from the
// first one that the node names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/graph/node.h"
#include "kernels/graph/variable.h"

namespace regatta {

/// What copies of a node have in common.
struct NodeBody {
  struct Input {
    Value value;
    bool is_counted = true;  ///< its node, from that of the first input, which is at the same place
    bool operator==(const Input&) const = default;
  };

  Op op = Op::Read;
  Phase phase = Phase::Forward;
  Attributes attributes;
  SharedList<TensorType> outputs;
  std::string layer;
  std::vector<Input> inputs;
  std::vector<VariableId> variables;  ///< counted from the first
  bool operator==(const NodeBody&) const = default;
};

struct StoredNode {
  std::shared_ptr<const NodeBody> body;
  NodeId first_input = 0;
  VariableId first_variable = 0;
  std::int32_t member = 0;
  Place place;
};

struct StoredVariable {
  std::shared_ptr<const Variable> body;  ///< without its place
  Place place;
};

/// `earlier`: the graph's nodes, among them the inputs.
StoredNode store(Node node, std::span<const StoredNode> earlier);
Node node_of(const StoredNode& stored);

StoredVariable store(Variable variable);
Variable variable_of(const StoredVariable& stored);

}  // namespace regatta
