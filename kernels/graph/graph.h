// SPDX-License-Identifier: Apache-2.0
//
// A training step as plain data: nodes, values between them, and variables that outlive a step.
// Nodes stand in an order in which they can run: a node's inputs come from earlier nodes, and of
// two nodes that use one variable the earlier comes first. Nothing here opens a device or a thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/graph/attributes.h"
#include "kernels/graph/few.h"
#include "kernels/graph/op.h"
#include "kernels/graph/shared.h"
#include "kernels/graph/tensor_type.h"

namespace regatta {

enum class Role : std::uint8_t { Worker, Host, Server, Peer };
inline constexpr Role kLastRole = Role::Peer;

/// Coordinates of a node or variable. They are bound to devices after all rewrites. Each rewrite
/// sets its own coordinate and leaves the others alone.
struct Place {
  int replica = 0;  ///< data parallel; at a server or a peer: the replica whose loop is there
  int stage = 0;    ///< model parallel, a stage or a shard; of a server: its number; at a peer: the
                    ///< replica that it is
  Role role = Role::Worker;
  bool operator==(const Place&) const = default;
  auto operator<=>(const Place&) const = default;
};

/// `replica0`, `replica1.stage2`, `host`, `server0`, `server1.replica2`, `peer1.replica2`: the loop
/// of replica 2 at replica 1.
std::string to_string(const Place& place);

using NodeId = int;
using VariableId = int;

/// One output of one node. A default-constructed Value refers to none.
struct Value {
  NodeId node = -1;
  int output = 0;
  bool exists() const { return node >= 0; }
  bool operator==(const Value&) const = default;
  auto operator<=>(const Value&) const = default;
};

/// The part of a step that a node belongs to; reports split time by phase.
enum class Phase : std::uint8_t { Input, Forward, Backward, Communication, Update };
std::string_view to_string(Phase phase);

struct Node {
  Op op = Op::Read;
  Attributes attributes;
  Few<Value, 2> inputs;
  Few<VariableId, 4> variables;    ///< op.h says which ops assign them
  SharedList<TensorType> outputs;  ///< their types
  Place place;
  Phase phase = Phase::Forward;
  std::string layer;  ///< the layer of the model, kept by backward and update nodes
};

/// How a variable gets its first value. Every element is a function of (seed, name, index).
struct Initializer {
  enum class Kind : std::uint8_t {
    Zeros,
    Ones,
    Normal,
    Uniform,
    Dirac,  ///< of weights [O, K, K, I]: the first I filters pass their channel, others are Uniform
    Given,  ///< `values`, whatever the seed
    CopyOf
  };
  Kind kind = Kind::Zeros;
  double scale = 1;    ///< Normal: standard deviation. Uniform, Dirac: bound of [-scale, scale].
  std::string source;  ///< CopyOf: the variable whose first value this one starts with
  std::vector<float> values = {};  ///< Given: all elements
};

/// To the first value of the variable of that name.
inline Initializer first_value_of(std::string name) {
  return {.kind = Initializer::Kind::CopyOf, .scale = 1, .source = std::move(name)};
}

/// What a variable is for.
enum class VariableKind : std::uint8_t { Parameter, Slot, Statistic };

/// Who may touch a variable at the same time.
enum class Sharing : std::uint8_t {
  None,     ///< one replica, or replicas that the graph orders
  Relaxed,  ///< any replica at any time, element by element with relaxed atomics (Hogwild)
  Locked,   ///< any replica at any time, a lock for each block of the variable
  Quorum,   ///< read as Locked; assigned by one replica at a time, when a quorum is complete
};
std::string_view to_string(Sharing sharing);

/// Names the larger variable of which this one holds some rows along one dimension; several servers
/// or shards share it.
struct PartOf {
  std::string name;       ///< of the whole
  TensorType type;        ///< of the whole
  std::int64_t row = 0;   ///< the part's first
  std::size_t along = 0;  ///< the dimension; 0: the slowest
  bool operator==(const PartOf&) const = default;
};

/// Elements that follow each other in a part and in its whole.
struct Stretch {
  std::int64_t in_part = 0;   ///< the index of the first
  std::int64_t in_whole = 0;  ///< the same
  std::int64_t count = 0;
};

struct Variable {
  std::string name;
  TensorType type;
  VariableKind kind = VariableKind::Parameter;
  Shared<Initializer> initializer = {};
  Place place;
  Sharing sharing = Sharing::None;
  Shared<PartOf> part_of = {};

  /// The name that the workload gave to the whole variable.
  const std::string& whole_name() const { return part_of ? part_of->name : name; }
  /// Where all elements stand in the whole variable.
  std::vector<Stretch> stretches() const;
};

/// Copies share nodes and variables until one of them changes. They may be read in any thread; one
/// is changed only where no other thread copies or drops one. One that was moved from has nothing
/// more, and is assigned before it is used again.
class Graph {
 public:
  /// Appends a node; its output types are inferred from its inputs and attributes.
  /// Throws: aborts when the op's rules do not allow the inputs.
  NodeId add(Node node);
  VariableId add(Variable variable);
  /// Appends a variable of another graph as it is, so that both hold it once.
  VariableId share_variable(const Graph& other, VariableId id);
  /// Has the other's variables, under their numbers.
  /// Throws: aborts when this graph has variables.
  void share_variables_of(const Graph& other);

  const std::vector<Node>& nodes() const { return *nodes_; }
  const ListOfShared<Variable>& variables() const { return *variables_; }
  const Node& node(NodeId id) const { return nodes_->at(static_cast<std::size_t>(id)); }
  const Variable& variable(VariableId id) const {
    return variables_->at(static_cast<std::size_t>(id));
  }
  const TensorType& type(Value value) const {
    return node(value.node).outputs.at(static_cast<std::size_t>(value.output));
  }

  /// Makes room for so many.
  void reserve_nodes(std::size_t count) { own(nodes_).reserve(count); }
  void reserve_variables(std::size_t count) { own(variables_).reserve(count); }
  /// Nodes of equal attributes hold them together: copies of a node, after a rewrite has set the
  /// same in each.
  void share_attributes();

  /// For rewrites that set a coordinate of existing nodes and variables. Used at once: a copy of
  /// the graph that is made later would be written to, too.
  Place& place(NodeId id) { return own(nodes_).at(static_cast<std::size_t>(id)).place; }
  Variable& mutable_variable(VariableId id) {
    return own(variables_).change(static_cast<std::size_t>(id));
  }

 private:
  void set_outputs(Node& node, std::vector<TensorType> types) const;
  /// What may be changed: no other graph has it.
  template <typename T>
  static T& own(std::shared_ptr<T>& shared) {
    if (shared.use_count() > 1) shared = std::make_shared<T>(*shared);
    return *shared;
  }

  std::shared_ptr<std::vector<Node>> nodes_ = std::make_shared<std::vector<Node>>();
  std::shared_ptr<ListOfShared<Variable>> variables_ = std::make_shared<ListOfShared<Variable>>();
};

/// A variable that is trained, its gradient, and the nodes that assign it.
struct Trainable {
  VariableId variable = -1;
  Value gradient;
  std::vector<NodeId> updates;
};

/// A loop (loops.h) as one process sees it.
struct LoopPart {
  int number = 0;                ///< in the whole graph
  int model = 0;                 ///< that it trains, in the whole graph
  std::int64_t examples = 0;     ///< of one step, over all processes
  std::vector<int> processes{};  ///< that take part in the loop, ascending
};

/// What a process knows of the whole graph after partition(). Empty in a step that is not
/// partitioned.
struct Partition {
  int process = 0;
  int loops = 0;                ///< in the whole graph
  int models = 1;               ///< that the whole graph trains (loops.h)
  std::vector<int> loop_of;     ///< by node: an index into `parts`
  std::vector<LoopPart> parts;  ///< the loops that this process takes part in
  std::vector<int> model_of;    ///< by variable: the model it belongs to

  int model(VariableId id) const {
    return model_of.empty() ? 0 : model_of.at(static_cast<std::size_t>(id));
  }
};

/// A graph that runs once per training step, and what its caller needs to know of it.
struct Step {
  Graph graph;
  std::vector<Trainable> trainables;  ///< in the order of the forward pass, replica by replica
  std::vector<Value> losses;      ///< scalars, one a replica; their sum is the loss of the batch
  std::int64_t global_batch = 0;  ///< examples
  std::int64_t normalization_group = 1;  ///< examples that must stay together in one replica
  /// By which a loop may lead the slowest, where anything bounds that; in a part, where variables
  /// are shared. Units: steps.
  std::optional<std::int64_t> staleness_bound = {};
  Partition partition;
};

}  // namespace regatta
