// SPDX-License-Identifier: Apache-2.0
//
// Assigns the nodes of a partitioned graph to lanes. Each place has a compute lane, and also a
// communication lane if its messages are large enough to be worth a hand-over. Receives from other
// workers and the host have a lane of their own, so that they can arrive while a send waits for its
// value. The nodes of a lane keep the order of the graph. A lane waits for another lane that makes
// a value it reads, uses a variable it changes (or the reverse), or still uses the memory of a
// value exchanged with other processes. A wait for memory is for a node before the previous
// exchange, so that two messages can be in flight.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "kernels/distribute/messages.h"
#include "kernels/graph/graph.h"

namespace regatta {

/// A wait until `lane` has finished its instruction `index` of this step.
struct Dependency {
  int lane = 0;
  int index = 0;
  /// Whether the awaited value comes from another pipeline stage of the waiting lane's replica.
  bool of_stage = false;
};

struct Instruction {
  NodeId node = -1;
  std::vector<Dependency> waits;  ///< at most one for each other lane
  bool awaited = false;           ///< whether another lane waits for this instruction
};

struct LanePlan {
  Place place;
  int loop = 0;
  bool communication = false;
  bool receives = false;  ///< whether this is the lane of receives from other workers and the host
  std::vector<Instruction> instructions;
};

/// The location of a value's memory: at an offset in the memory of a variable or, if `variable` is
/// -1, of the value `owner`.
struct Storage {
  VariableId variable = -1;
  Value owner;
  std::int64_t offset_bytes = 0;
};

struct PlanOptions {
  /// Communication of fewer bytes than this stays in the compute lane.
  std::int64_t inline_bytes = kInlineBytes;
  /// Whether the lanes of a place group casts of variables together, so that their kernels merge
  /// (merge.h). An empty function means no place.
  std::function<bool(const Place&)> gathers_casts = {};
};

class Plan {
 public:
  Plan(const Step& step, const PlanOptions& options);

  const std::vector<LanePlan>& lanes() const { return lanes_; }
  /// Returns the lane of the node, an index in lanes(); -1 for views, which no lane runs.
  int lane_of(NodeId id) const { return lane_of_[static_cast<std::size_t>(id)]; }
  int index_of(NodeId id) const { return index_of_[static_cast<std::size_t>(id)]; }
  /// Returns the value's storage; for a view, that of the viewed value. Sums that an all_reduce, a
  /// reduce_scatter, a quorum or a receive makes in place have the storage of their inputs.
  const Storage& storage(Value value) const;
  int loop_count() const { return loop_count_; }
  /// Returns the losses that lanes check for finite values, and the terms in the same lane that the
  /// losses sum. A lane checks each as soon as it is computed, while the inputs still exist.
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

/// Whether both places are workers of one replica: its stages and their shards.
bool are_stages(const Place& one, const Place& other);

/// Whether the node receives a message from another stage or shard of its own replica.
bool comes_from_stage(const Graph& graph, const Node& node);

/// Whether no lane runs the node, because it is a view, or a read of a variable that is not shared.
bool is_view(const Graph& graph, const Node& node);

/// Returns the value that owns the memory: `value` itself or, for a view (of a view, ...), the
/// viewed value. A view of a variable is returned as it is.
Value what_is_viewed(const Graph& graph, Value value);

}  // namespace regatta
