// SPDX-License-Identifier: Apache-2.0
//
// Divides the values and variables of a step among shards, for strategies such as tensor_parallel.
// The strategy finds a division: the part of each value and variable that a shard has. This engine
// copies every node to all shards, and sums values of which a shard has only a term. If a node
// needs more than a copy, the strategy replaces it at all shards at once. The first shard reads the
// batch and sends it to the others.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/graph/builder.h"
#include "kernels/graph/copier.h"
#include "kernels/graph/graph.h"

namespace regatta::strategies {

/// The part of a value or variable that each shard stores.
enum class Portion : std::uint8_t {
  Whole,
  Channels,  ///< a share of the last dimension
  Rows,      ///< a share of the output channels of weights: the first dimension, or that behind P
  Tokens,    ///< a share of the tokens; for a loss, the loss of these tokens
  Term,      ///< a tensor with the shape of the whole, which is the sum of all shards' terms
};

struct ShardDivision {
  /// Everything is whole.
  explicit ShardDivision(const Graph& graph);

  Portion& of(Value value);
  Portion of(Value value) const;

  /// `of_node[n]` has the part of each output of node n.
  std::vector<std::vector<Portion>> of_node;
  /// `of_variable[v]` is the part of variable v that each shard stores.
  std::vector<Portion> of_variable;
  /// `unit_of_variable[v]` is the number of consecutive channels that stay together: those of a
  /// head, otherwise 1.
  std::vector<std::int64_t> unit_of_variable;
};

struct Shard {
  std::int64_t unit = 1;  ///< consecutive channels that stay together
  std::int64_t number = 0;
  std::int64_t of = 1;  ///< number of shards
};

/// Returns the variable that holds a shard's part of `whole`, initialised with the corresponding
/// elements of `whole`.
Variable portion_of(const Variable& whole, Portion portion, const Shard& shard);

/// Adapts the attributes that count channels, `dims`, `groups` and `heads`, to a shard's part of
/// the node's outputs.
void set_channels(Attributes& attributes, Portion portion, const Shard& shard);

/// Checks that a strategy can divide the step among shards; `what` describes the strategy and its
/// shards in error messages. Throws: RunError(Usage) for one shard, and if the step has shards
/// already, or divides its parameters among workers.
void require_divisible(const Step& step, std::int64_t shards, const std::string& what);

/// Rewrites one step.
class ShardedStep {
 public:
  /// Replaces a node of the source: appends nodes at all shards and maps the node's outputs to
  /// theirs. Returns false, and appends none, if the node is to be copied.
  using Replace = std::function<bool(NodeId)>;

  /// `algorithm` is that of sums; `alike` is `shards` if one shard is to be built, which stands for
  /// all. The source must outlive this object.
  ShardedStep(const Step& source, std::int64_t shards, ShardDivision division,
              std::string algorithm, std::int64_t alike = 1);

  /// Maps a value, of which each shard has a term, to the sum or to a part of it.
  using Join = std::function<void(Value, const std::vector<Value>& terms)>;

  Step run(const Replace& replace = [](NodeId) { return false; });
  /// Joins terms in another way than by an all_reduce. Called before run().
  void join_by(Join join) { join_ = std::move(join); }

  // For nodes that a strategy appends itself while run() calls `replace`.
  std::int64_t shards() const { return built() * result_.alike.shards; }
  std::int64_t built() const { return static_cast<std::int64_t>(copiers_.size()); }
  const Graph& source() const { return source_.graph; }
  const ShardDivision& division() const { return division_; }
  Graph& graph() { return result_.graph; }
  /// Maps values of the source to those at a shard.
  Copier& copier(std::int64_t shard) { return copiers_[at(shard)]; }
  /// Maps `from`, a value of the source, to `to[s]` at each shard s.
  void map(Value from, const std::vector<Value>& to);
  /// Returns a builder of nodes at the shard with the place, layer and phase of a source's node.
  Builder builder(NodeId like, std::int64_t shard);
  /// Appends a copy of the node at the shard, and does not map its outputs.
  NodeId copy(NodeId id, std::int64_t shard);

  // Each appends a collective of all shards, placed like the node of value `of`. Element s of
  // `values` is the value of shard s, and element s of the result the output there, for shards that
  // are built. A ring leaves share share_at(s) (collective.h) at shard s; shares are rows of [rows,
  // C]. Each collective is a round of its own, because later ones depend on it; sums of gradients
  // share a round, so that they can share buckets.
  std::vector<Value> all_reduce(Value of, const std::vector<Value>& terms);
  std::vector<Value> reduce_scatter(Value of, const std::vector<Value>& terms);
  std::vector<Value> all_gather(Value of, const std::vector<Value>& shares,
                                Attributes attributes = {});
  /// Maps the value, by default to the sum of its terms.
  void join(Value of, const std::vector<Value>& terms) { join_(of, terms); }

 private:
  static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }
  void add_variable(VariableId v);
  std::vector<NodeId> order() const;
  void add_sum_of_replicas(NodeId id);
  void add_nodes(NodeId id);
  void add_trainable(const Trainable& whole, std::int64_t shard);
  std::vector<Value> collective(Op op, Value of, const std::vector<Value>& values,
                                Attributes attributes);

  const Step& source_;
  std::string algorithm_;
  ShardDivision division_;
  std::int64_t next_group_;
  std::int64_t round_ = 0;
  Step result_;
  Join join_;
  std::set<Value> read_in_passes_;                ///< by forward and backward nodes
  std::vector<Copier> copiers_;                   ///< by shard
  std::vector<std::map<NodeId, NodeId>> copied_;  ///< by shard
};

}  // namespace regatta::strategies
