// SPDX-License-Identifier: Apache-2.0
//
// How a graph stores its nodes and variables. Replicas differ little, so their common part is
// stored once for all graphs; numbers of nodes and variables in it are relative to the first one
// that the node names.
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

/// The common part of equal nodes of several replicas.
struct NodeBody {
  struct Input {
    Value value;
    bool is_counted = true;  ///< node id is relative to the first input's; only for inputs at the
                             ///< same place as that
    bool operator==(const Input&) const = default;
  };

  Op op = Op::Read;
  Phase phase = Phase::Forward;
  Attributes attributes;
  SharedList<TensorType> outputs;
  std::string layer;
  std::vector<Input> inputs;
  std::vector<VariableId> variables;  ///< relative to the first one
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

/// Returns the stored form of a node. `earlier`: the graph's nodes, which include the inputs.
StoredNode store(Node node, std::span<const StoredNode> earlier);
Node node_of(const StoredNode& stored);

StoredVariable store(Variable variable);
Variable variable_of(const StoredVariable& stored);

}  // namespace regatta
