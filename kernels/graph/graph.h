// SPDX-License-Identifier: Apache-2.0
//
// A training step as plain data: nodes, values between them, and variables that persist between
// steps. Nodes are in an order in which they can run: a node's inputs come from earlier nodes, and
// nodes that use the same variable run in this order. This layer opens no device and starts no
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "kernels/graph/node.h"
#include "kernels/graph/variable.h"

namespace regatta {

/// References to nodes and variables are valid until a node or variable is added or the graph is
/// destroyed.
class Graph {
 public:
  /// Appends a node; its output types are inferred from its inputs and attributes. Aborts if the
  /// op's rules do not allow the inputs.
  NodeId add(Node node);
  VariableId add(Variable variable);
  /// Copies all variables of the other graph, with their ids. Aborts if this graph has variables.
  void copy_variables_of(const Graph& other);

  const Node& node(NodeId id) const { return nodes_.at(static_cast<std::size_t>(id)); }
  const Variable& variable(VariableId id) const {
    return variables_.at(static_cast<std::size_t>(id));
  }
  /// All nodes, or all variables, in the order of their ids.
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Variable>& variables() const { return variables_; }
  const TensorType& type(Value value) const {
    return node(value.node).outputs.at(static_cast<std::size_t>(value.output));
  }

  /// Reserves memory for `count` nodes or variables.
  void reserve_nodes(std::size_t count) { nodes_.reserve(count); }
  void reserve_variables(std::size_t count) { variables_.reserve(count); }

  /// Returns the place of a node, or a variable, to be changed by a rewrite.
  Place& place(NodeId id) { return nodes_.at(static_cast<std::size_t>(id)).place; }
  Variable& mutable_variable(VariableId id) { return variables_.at(static_cast<std::size_t>(id)); }

 private:
  std::vector<Node> nodes_;
  std::vector<Variable> variables_;
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
  /// If places stand for others (Step::alike), in the first process's part: the process of each
  /// place, built or not.
  std::map<Place, int> process_of_place;

  int model(VariableId id) const {
    return model_of.empty() ? 0 : model_of.at(static_cast<std::size_t>(id));
  }
};

/// The numbers of replicas and shards for which each place of a graph stands: itself and others
/// that are alike and are not built.
struct Alike {
  std::int64_t replicas = 1;
  std::int64_t shards = 1;

  std::int64_t places() const { return replicas * shards; }
  bool operator==(const Alike&) const = default;
};

/// A graph that runs once per training step, with its losses, trainables and batch.
struct Step {
  Graph graph;
  std::vector<Trainable> trainables;  ///< all of one replica, in the order of the forward pass,
                                      ///< then those of the next replica
  /// Scalars, one or more per replica; their sum is the loss of the global batch.
  std::vector<Value> losses;
  std::int64_t global_batch = 0;  ///< examples
  /// Examples that are normalised together and so must be in one replica.
  std::int64_t normalization_group = 1;
  /// Limit of the norm of all gradients together, which clip_gradients() applies; 0: none.
  double gradient_clip = 0;
  /// Number of steps by which a loop may be ahead of the slowest loop; empty: no bound. After
  /// partition(), only the steps of processes that share variables have it.
  std::optional<std::int64_t> staleness_bound = {};
  Alike alike = {};  ///< for virtual time; every place is built for a run
  Partition partition;
};

}  // namespace regatta
