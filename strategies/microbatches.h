// SPDX-License-Identifier: Apache-2.0
//
// Cuts each worker's share of the batch into m microbatches, in whole normalisation groups. The
// nodes that compute on examples exist once for each microbatch; the gradients and losses of
// microbatches are added up in their order, each as soon as it exists, gradients in the memory of
// the first microbatch's gradient. Exchanges of parameters come after the computation of all
// replicas in the source, but for those of sharded gradients (Microbatches::Sums). All are divided
// by the global batch, so that the sums are means over examples, however uneven the microbatches
// are. Microbatches update running statistics one by one. With shares w_k of the batch and momentum
// a, microbatch k has momentum a w_k / (1 - a (w_k+1 + ... + w_m)): together they have the effect
// of the whole batch. Term: gradient accumulation.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "kernels/graph/copier.h"
#include "kernels/graph/graph.h"

namespace regatta::strategies {

/// Copies a step with microbatches; the caller chooses the order of the nodes that compute on them.
class Microbatches {
 public:
  /// Whether workers exchange a gradient of which each keeps a share (frees_gradients()) once for
  /// the batch, or once for each microbatch.
  enum class Sums : std::uint8_t { OfBatch, OfMicrobatch };

  /// Copies the nodes that come before all microbatches. Throws: RunError(Usage) if a worker's
  /// share has fewer normalisation groups than `count`.
  Microbatches(const Step& source, std::int64_t count, Sums sums = Sums::OfBatch);

  /// Whether the source's node exists once for each microbatch.
  bool has(NodeId id) const { return part(id) == Part::Microbatch; }
  /// Appends one microbatch's copy of the node. Called after the copies that this one reads, and
  /// after the node's copies for earlier microbatches.
  void add(NodeId id, std::int64_t microbatch);
  /// Adds a microbatch's shares of gradients to those of the microbatches before it. Called after
  /// all of the microbatch's nodes.
  void add_shares(std::int64_t microbatch);
  /// Appends the nodes that come after all microbatches.
  Step finish();

 private:
  enum class Part : std::uint8_t { Before, Microbatch, After };

  NodeId size() const { return static_cast<NodeId>(source_.graph.nodes().size()); }
  Part part(NodeId id) const { return parts_[static_cast<std::size_t>(id)]; }
  bool is_input(Value value) const { return source_.graph.node(value.node).phase == Phase::Input; }
  Copier& copier(std::int64_t microbatch) { return copiers_[static_cast<std::size_t>(microbatch)]; }
  void deal_nodes();
  void check_count() const;
  void find_leaving();
  Value value(Value source, std::int64_t microbatch, const Place& place);
  std::vector<std::int64_t> rows_of(Value batch) const;
  double momentum_of(const Node& node, std::int64_t microbatch) const;
  bool gives_share(NodeId id) const;
  void accumulate(Value value, std::int64_t microbatch);

  const Step& source_;
  std::int64_t count_;
  Sums sums_;
  std::int64_t groups_;  ///< of collectives in the source
  std::int64_t rounds_ = 1;
  Step result_;
  Copier once_;                  ///< maps nodes that exist once, and sums over microbatches
  std::vector<Copier> copiers_;  ///< by microbatch
  std::vector<Part> parts_;      ///< by node
  std::map<NodeId, std::set<Value>> leaving_;  ///< values used after the microbatches, by maker
  std::set<Value> read_inside_;  ///< by nodes of microbatches, which may still need the first one's
  std::map<std::tuple<Value, std::int64_t, Place>, Value> slices_;
};

/// Returns the step with microbatches that follow each other: each one's activations are free
/// before the next begins. Throws: as Microbatches.
Step accumulate(const Step& step, std::int64_t count);

}  // namespace regatta::strategies
