// SPDX-License-Identifier: Apache-2.0
//
// Code shared by all data-parallel rewrites: n copies of a step's forward and backward nodes, each
// of which computes a share of the global batch. A share is a whole number of normalisation groups.
// The strategy that uses this class adds the gradient exchange and the updates.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/graph/builder.h"
#include "kernels/graph/copier.h"
#include "kernels/graph/graph.h"

namespace regatta::strategies {

/// Where parameters are stored and which places read them.
enum class Ownership : std::uint8_t {
  EachReplica,  ///< a copy in every replica
  Home,    ///< one copy at the place `home`, read (and cast) once there; its value is sent to the
           ///< replicas
  Shared,  ///< one copy at the place `home`, which every replica reads and assigns there
};

/// Where the replicas' input comes from.
enum class Feed : std::uint8_t {
  Each,     ///< every replica has an input node for its slice of the global batch
  Central,  ///< one input node at the place `home` yields the global batch; replicas receive slices
            ///< of it
};

struct ReplicaOptions {
  std::int64_t count = 1;
  std::int64_t alike = 1;  ///< `count` if only one replica is built, which stands for all
  /// Number of backup replicas, which `count` includes. The other replicas' shares make up the
  /// global batch; the share of backup i is as large as that of replica i.
  std::int64_t backups = 0;
  Ownership ownership = Ownership::EachReplica;
  Feed feed = Feed::Each;
  Place home;  ///< place of the parameters (Home, Shared) and of a central feed
  /// Sharing of parameters with Ownership::Shared, and of trained parameters with EachReplica that
  /// other replicas access.
  Sharing sharing = Sharing::None;
  /// The value that evaluations use for a trained parameter whose values differ between replicas
  /// (Ownership::EachReplica).
  std::optional<Judged> judged = {};
  std::string_view strategy;  ///< for error messages
};

/// Checks that a step may be divided into replicas. Throws: RunError(Usage) if its batch is already
/// divided into replicas or microbatches, or its channels into shards.
void require_whole_batch(const Graph& graph, std::string_view strategy);

class Replicas {
 public:
  /// Throws: RunError(Usage) if the step is already divided into replicas or has fewer
  /// normalisation groups than replicas.
  Replicas(const Step& source, const ReplicaOptions& options);

  /// Number of replicas that are built.
  std::int64_t count() const { return options_.count / options_.alike; }
  std::int64_t backups() const { return options_.backups; }
  /// Number of examples that this replica computes in a step.
  std::int64_t examples(std::int64_t replica) const {
    return batch_.at(static_cast<std::size_t>(replica));
  }
  std::size_t trainables() const { return source_.trainables.size(); }
  /// Returns a replica's contribution to the gradient of trainable `t`. The contributions of all
  /// replicas add up to the gradient over the global batch.
  Value gradient(std::size_t t, std::int64_t replica) const;
  std::vector<Value> gradients(std::size_t t) const;
  /// Returns the variable of trainable `t` at a replica.
  VariableId parameter(std::size_t t, std::int64_t replica) const;
  /// Returns a builder with the place and layer of trainable `t`'s update at a replica.
  Builder at_update(std::size_t t, std::int64_t replica);
  Builder at_home(std::size_t t);
  /// Returns a builder with the place where a replica assigns trainable `t` with Ownership::Shared.
  Builder at_shared(std::size_t t, std::int64_t replica);

  /// Appends trainable `t`'s updates with `gradient`, at a replica or at the place `home`. When a
  /// replica updates a shared parameter, the update's weight (SgdOptions, AdamOptions, MuonOptions)
  /// is the replica's share of the global batch. An update after a quorum has weight 1, because its
  /// gradient is that of the whole step.
  void update(std::size_t t, std::int64_t replica, Value gradient);
  void update_at_home(std::size_t t, Value gradient);

  Step finish();

 private:
  void deal_out();
  void add_variables();
  void copy_compute(std::int64_t replica);
  Value feed(NodeId input, int output, std::int64_t replica);
  void append_update(std::size_t t, Copier& copier, Place place, double weight, Value gradient);
  bool reads(NodeId id) const;
  Place place_in(Place place, std::int64_t replica) const;
  Place home_of(Place place) const;
  Place shared_place(Place place, std::int64_t replica) const;

  const Step& source_;
  ReplicaOptions options_;
  std::vector<std::int64_t> batch_;  ///< `batch_[r]` is the number of examples of replica r
  std::vector<std::int64_t> offset_;
  std::vector<Copier> copiers_;
  Copier central_;  ///< maps nodes that exist once: reads and input at home
  Step result_;
};

}  // namespace regatta::strategies
