// SPDX-License-Identifier: Apache-2.0
//
// From a partitioned graph to lanes. A device (a place) has a compute lane, and a communication
// lane where messages are large enough to be worth a hand-over. The order of nodes in a lane is
// fixed here; a lane waits on another where a value or a variable demands it.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta {

/// Wait until `lane` has finished its instruction `index` of this step.
struct Dependency {
  int lane = 0;
  int index = 0;
};

struct Instruction {
  NodeId node = -1;
  std::vector<Dependency> waits;  ///< at most one a lane
  bool awaited = false;           ///< another lane waits for this one
};

struct LanePlan {
  Place place;
  int loop = 0;
  bool communication = false;
  std::vector<Instruction> instructions;
};

/// Where the memory of a value is: a variable's, or a value's own (`owner`), plus an offset.
struct Storage {
  VariableId variable = -1;
  Value owner;
  std::int64_t offset_bytes = 0;
};

struct PlanOptions {
  /// Communication of fewer bytes stays in the compute lane: a hand-over costs about 10 us.
  std::int64_t inline_bytes = 64 * 1024;
};

class Plan {
 public:
  Plan(const Step& step, const PlanOptions& options);

  const std::vector<LanePlan>& lanes() const { return lanes_; }
  /// -1 for views, which run nowhere.
  int lane_of(NodeId id) const { return lane_of_[static_cast<std::size_t>(id)]; }
  int index_of(NodeId id) const { return index_of_[static_cast<std::size_t>(id)]; }
  /// The storage behind a view; sums of an all_reduce, a quorum or a receive to its
  /// inputs.
  const Storage& storage(Value value) const;
  int loop_count() const { return loop_count_; }

 private:
  void resolve_storage(const Graph& graph);
  void deal_to_lanes(const Step& step, const PlanOptions& options);
  void find_dependencies(const Graph& graph);
  void depend(NodeId later, NodeId earlier);

  std::vector<LanePlan> lanes_;
  std::vector<int> lane_of_;
  std::vector<int> index_of_;
  std::vector<std::vector<Storage>> storage_;
  int loop_count_ = 0;
};

/// True for nodes that no lane runs: views, and reads of variables that are not shared.
bool is_view(const Graph& graph, const Node& node);

/// The value whose memory a value is: itself, or what views are views of. A view of a variable has
/// none and is its own.
Value what_is_viewed(const Graph& graph, Value value);

}  // namespace regatta
