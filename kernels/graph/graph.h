// SPDX-License-Identifier: Apache-2.0
//
// A training step as plain data: nodes, values between them, and variables that persist between
// steps. Nodes are in an order in which they can run: a node's inputs come from earlier nodes, and
// of two nodes that use the same variable, the first in this order runs first. This layer opens no
// device and starts no thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/graph/elements.h"
#include "kernels/graph/node.h"
#include "kernels/graph/stored.h"
#include "kernels/graph/variable.h"

namespace regatta {

/// Copies of a graph share nodes and variables until one copy is changed. Any thread may read a
/// graph; it may be changed only while no other thread copies it, or copies or destroys a copy of
/// it. A moved-from graph must be assigned before it is used again. Nodes and variables are
/// returned by value, because the graph stores the common parts of replicas only once (stored.h).
/// References into the attributes and output types of a returned node stay valid after that node is
/// destroyed, as long as the graph exists.
class Graph {
 public:
  /// Appends a node; its output types are inferred from its inputs and attributes.
  /// Throws: aborts when the op's rules do not allow the inputs.
  NodeId add(Node node);
  VariableId add(Variable variable);
  /// Appends a variable of another graph.
  VariableId copy_variable(const Graph& other, VariableId id);
  /// Copies all variables of the other graph, with their ids. Throws: aborts if this graph has
  /// variables.
  void copy_variables_of(const Graph& other);

  Node node(NodeId id) const;
  Variable variable(VariableId id) const;
  using Nodes = Elements<&Graph::node>;
  using Variables = Elements<&Graph::variable>;
  /// All nodes, or all variables, in the order of their ids. The range is valid until the graph is
  /// changed or destroyed.
  Nodes nodes() const { return {*this, nodes_->size()}; }
  Variables variables() const { return {*this, variables_->size()}; }
  const TensorType& type(Value value) const {
    return stored(value.node).body->outputs.at(static_cast<std::size_t>(value.output));
  }
  /// Single fields of a node or variable, which cost less than node(id) or variable(id).
  Op op_of(NodeId id) const { return stored(id).body->op; }
  const Place& place_of(NodeId id) const { return stored(id).place; }
  std::size_t outputs_of(NodeId id) const { return stored(id).body->outputs.size(); }
  const TensorType& type_of_variable(VariableId id) const { return stored_variable(id).body->type; }
  const Place& place_of_variable(VariableId id) const { return stored_variable(id).place; }

  /// Reserves memory for `count` nodes or variables.
  void reserve_nodes(std::size_t count) { own(nodes_).reserve(count); }
  void reserve_variables(std::size_t count) { own(variables_).reserve(count); }

  /// Change existing nodes and variables, for rewrites that set a coordinate of their places. Use
  /// the reference that place() returns at once: writing through it after the graph was copied
  /// would change the copy, too.
  Place& place(NodeId id) { return own(nodes_).at(static_cast<std::size_t>(id)).place; }
  void change_variable(VariableId id, const std::function<void(Variable&)>& change);

 private:
  const StoredNode& stored(NodeId id) const { return nodes_->at(static_cast<std::size_t>(id)); }
  const StoredVariable& stored_variable(VariableId id) const {
    return variables_->at(static_cast<std::size_t>(id));
  }
  void set_outputs(Node& node, std::vector<TensorType> types) const;
  /// Returns the vector for writing, copied first if other graphs share it.
  template <typename T>
  static T& own(std::shared_ptr<T>& shared) {
    if (shared.use_count() > 1) shared = std::make_shared<T>(*shared);
    return *shared;
  }

  std::shared_ptr<std::vector<StoredNode>> nodes_ = std::make_shared<std::vector<StoredNode>>();
  std::shared_ptr<std::vector<StoredVariable>> variables_ =
      std::make_shared<std::vector<StoredVariable>>();
};

/// A variable that is trained, its gradient, and the nodes that assign it.
struct Trainable {
  VariableId variable = -1;
  Value gradient;
  std::vector<NodeId> updates;
};

/// A loop (loops.h) as one process sees it.
struct LoopPart {
  int number = 0;                ///< number of the loop in the whole graph
  int model = 0;                 ///< number of the model that the loop trains, in the whole graph
  std::int64_t examples = 0;     ///< examples in one step of the loop, over all processes
  std::vector<int> processes{};  ///< processes that take part in the loop, ascending
};

/// A process's view of the whole graph, made by partition(). Empty in a step that is not
/// partitioned.
struct Partition {
  int process = 0;
  int loops = 0;                ///< number of loops in the whole graph
  int models = 1;               ///< number of models that the whole graph trains (loops.h)
  std::vector<int> loop_of;     ///< `loop_of[n]` is the index in `parts` of node n's loop
  std::vector<LoopPart> parts;  ///< the loops that this process takes part in
  std::vector<int> model_of;    ///< `model_of[v]` is the model that variable v belongs to

  int model(VariableId id) const {
    return model_of.empty() ? 0 : model_of.at(static_cast<std::size_t>(id));
  }
};

/// A graph that runs once per training step, with its losses, trainables and batch.
struct Step {
  Graph graph;
  std::vector<Trainable> trainables;  ///< all of one replica, in the order of the forward pass,
                                      ///< then those of the next replica
  /// Scalars, one per replica; their sum is the loss of the global batch.
  std::vector<Value> losses;
  std::int64_t global_batch = 0;  ///< examples
  /// Examples that are normalised together and so must be in one replica.
  std::int64_t normalization_group = 1;
  /// Number of steps by which a loop may be ahead of the slowest loop; empty: no bound. After
  /// partition(), only the steps of processes that share variables have it.
  std::optional<std::int64_t> staleness_bound = {};
  Partition partition;
};

}  // namespace regatta
