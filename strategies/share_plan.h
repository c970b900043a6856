// SPDX-License-Identifier: Apache-2.0
//
// For shares.cpp: when each worker of sharded gathers the parameters of a bucket, and in which
// order the divided graph has its nodes. Reads the graph of replicas and makes none.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "kernels/graph/graph.h"
#include "strategies/shares.h"

namespace regatta::strategies {

/// One gathering of a bucket's parameters at a worker: for the whole step, or for one pass, forward
/// or backward, or for several.
struct Use {
  NodeId sum = -1;        ///< the sum of their gradients
  std::int64_t pass = 0;  ///< number of the first pass
  NodeId first = -1;      ///< first reader
  NodeId last = -1;
};

/// A node of the divided graph, by its position: at a node of the source, before it or after it.
struct Turn {
  enum class Kind : std::uint8_t { Gather, Node, Sum, Update };
  NodeId at = -1;
  Kind kind = Kind::Node;
  int index = 0;  ///< index of a use, or a node
  auto operator<=>(const Turn&) const = default;
};

class SharePlan {
 public:
  SharePlan(const Step& replicas, const FreedEarly& freed_early);

  const std::vector<Use>& uses() const { return uses_; }
  /// Returns the last use that ends at the same worker before this one needs its memory, which is
  /// when the use before it begins; null if there is none.
  const Use* ended_before(std::size_t use) const { return at(ended_before_[use]); }
  /// Whether a node reads or casts a parameter, and is made anew for each use.
  bool carries(NodeId id) const { return sum_of_carrier_.contains(id); }
  /// Returns the use in which `reader` reads a value of `carrier`.
  std::size_t use_of(NodeId reader, NodeId carrier) const {
    return use_of_.at({sum_of_carrier_.at(carrier), pass_of_[static_cast<std::size_t>(reader)]});
  }

  /// Sums over microbatches of shares of a gradient: by each, the sum over workers that it adds.
  const std::map<Value, Value>& accumulations() const { return added_; }
  /// The parameter of each sum of a gradient.
  const std::map<Value, VariableId>& parameters() const { return parameter_of_; }
  /// The sum of each update's gradient.
  const std::map<NodeId, Value>& gradients_of_updates() const { return gradient_of_; }
  /// The sum of the gradient of each parameter and slot, of the first microbatch if each has one.
  const std::map<VariableId, Value>& gradients_of_state() const { return gradient_of_state_; }

  /// Returns the order of the divided graph. All parameters are gathered at the start or, to free
  /// them, each bucket's when the use before it begins. To free gradients, a sum comes after the
  /// last gradient of its bucket, and the updates after the next bucket's sum.
  std::vector<Turn> order() const;

 private:
  NodeId nodes() const { return static_cast<NodeId>(source_.graph.nodes().size()); }
  const Place& place_of(const Use& use) const { return source_.graph.node(use.sum).place; }
  const Use* at(int use) const { return use < 0 ? nullptr : &uses_[static_cast<std::size_t>(use)]; }
  Value first_sum(Value gradient);
  void find_state(std::size_t t);
  void number_passes();
  void find_uses();
  void join_uses();
  void find_earlier();

  const Step& source_;
  FreedEarly freed_early_;
  std::map<Value, Value> added_;
  std::map<Value, VariableId> parameter_of_;
  std::map<NodeId, Value> gradient_of_;
  std::map<VariableId, Value> gradient_of_state_;
  std::map<NodeId, NodeId> sum_of_carrier_;  ///< by read or cast of a parameter
  std::vector<Use> uses_;
  std::vector<std::int64_t> pass_of_;                              ///< by node
  std::map<std::pair<NodeId, std::int64_t>, std::size_t> use_of_;  ///< by sum and pass: an index
  std::map<Place, std::vector<std::size_t>> uses_at_;
  std::vector<int> one_before_;    ///< by use: the one that begins before it at its place, or -1
  std::vector<int> ended_before_;  ///< by use: see ended_before(), or -1
};

}  // namespace regatta::strategies
