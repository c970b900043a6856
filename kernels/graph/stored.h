// SPDX-License-Identifier: Apache-2.0
//
// How a graph stores its nodes and variables. Replicas differ little, so the part of nodes and
// variables that is equal is stored once for all graphs. In this shared part, ids of nodes and
// variables are relative to the node's first input and first variable.
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

/// The part of a node that equal nodes of several replicas share.
struct NodeBody {
  struct Input {
    Value value;
    bool is_counted = true;  ///< whether value.node is relative to the first input's node id, as
                             ///< for all inputs at the first input's place
    bool operator==(const Input&) const = default;
  };

  Op op = Op::Read;
  Phase phase = Phase::Forward;
  Attributes attributes;
  SharedList<TensorType> outputs;
  std::string layer;
  std::vector<Input> inputs;
  std::vector<VariableId> variables;  ///< ids, relative to the first variable's id
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

/// Returns the stored form of a node. `earlier` are the graph's nodes so far, which include the
/// inputs.
StoredNode store(Node node, std::span<const StoredNode> earlier);
Node node_of(const StoredNode& stored);

StoredVariable store(Variable variable);
Variable variable_of(const StoredVariable& stored);

}  // namespace regatta
