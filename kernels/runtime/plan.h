// SPDX-License-Identifier: Apache-2.0
//
// Assigns the nodes of a partitioned graph to lanes. Each device (place) has a compute lane, and a
// communication lane if its messages are large enough to be worth a hand-over. Receives from other
// workers and the host have a lane of their own, so that they can arrive while a send waits for its
// value. The nodes of a lane keep the order of the graph. A lane waits for another if a value or a
// variable demands it, or the memory of values exchanged with other processes. A wait for memory is
// for a node before the previous exchange, so that two messages can be in flight.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/graph/messages.h"

namespace regatta {

/// Wait until `lane` has finished its instruction `index` of this step.
struct Dependency {
  int lane = 0;
  int index = 0;
  /// Whether another stage of the waiting lane's replica makes the awaited value.
  bool of_stage = false;
};

struct Instruction {
  NodeId node = -1;
  std::vector<Dependency> waits;  ///< at most one for each lane
  bool awaited = false;           ///< another lane waits for this one
};

struct LanePlan {
  Place place;
  int loop = 0;
  bool communication = false;
  bool receives = false;  ///< from other workers and the host
  std::vector<Instruction> instructions;
};

/// The location of a value's memory: in a variable or in the value `owner`, at an offset.
struct Storage {
  VariableId variable = -1;
  Value owner;
  std::int64_t offset_bytes = 0;
};

struct PlanOptions {
  /// Communication of fewer bytes stays in the compute lane.
  std::int64_t inline_bytes = kInlineBytes;
  /// Whether the lanes of a place put casts of variables one behind the other, so that kernels
  /// merge (merge.h); empty: nowhere.
  std::function<bool(const Place&)> gathers_casts = {};
};

class Plan {
 public:
  Plan(const Step& step, const PlanOptions& options);

  const std::vector<LanePlan>& lanes() const { return lanes_; }
  /// -1 for views, which no lane runs.
  int lane_of(NodeId id) const { return lane_of_[static_cast<std::size_t>(id)]; }
  int index_of(NodeId id) const { return index_of_[static_cast<std::size_t>(id)]; }
  /// The storage behind a view. Sums that an all_reduce, a reduce_scatter, a quorum or a receive
  /// makes in place have their inputs' storage.
  const Storage& storage(Value value) const;
  int loop_count() const { return loop_count_; }
  /// The losses that lanes check for finite values, and the terms in the same lane that they sum:
  /// each is checked when it is made, while the values it was made from are there.
  const std::vector<Value>& looked_at() const { return looked_at_; }

 private:
  void resolve_storage(const Graph& graph);
  std::vector<Storage> storage_of_pieces(const Graph& graph, const Node& node) const;
  void deal_to_lanes(const Step& step, const PlanOptions& options);
  void gather_casts(const Graph& graph, LanePlan& lane);
  void find_dependencies(const Graph& graph);
  void find_waits_for_memory(const Graph& graph);
  void find_waits_for_stages(const Graph& graph);
  std::map<NodeId, std::vector<NodeId>> readers_elsewhere(const Graph& graph) const;
  void look_at(const Graph& graph, Value loss);
  void depend(NodeId later, NodeId earlier);

  std::vector<LanePlan> lanes_;
  std::vector<int> lane_of_;
  std::vector<int> index_of_;
  std::vector<std::vector<Storage>> storage_;
  std::vector<Value> looked_at_;
  int loop_count_ = 0;
};

/// Whether both are stages of one replica.
bool are_stages(const Place& one, const Place& other);

/// Whether the node is a message from another stage of the replica at its place.
bool comes_from_stage(const Graph& graph, const Node& node);

/// True for nodes that no lane runs: views, and reads of variables that are not shared.
bool is_view(const Graph& graph, const Node& node);

/// The value that owns the memory: the value itself or, for a view, the value behind all views. A
/// view of a variable is returned as it is.
Value what_is_viewed(const Graph& graph, Value value);

}  // namespace regatta
