// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/capture/turn_order.h"

#include <algorithm>

#include "kernels/base/error.h"

namespace regatta {
namespace {

/// The next node of each lane.
class Heads {
 public:
  explicit Heads(std::span<const std::vector<QueuedNode>> lanes)
      : lanes_(lanes), next_(lanes.size()) {}

  /// The turn that contains the lane's next node; empty if it must wait, or there is none.
  Turn turn_of(std::size_t lane) const {
    if (!is_ready(lane)) return {};
    const SharedLaunch* const shared_launch = head(lane).shared_launch;
    if (shared_launch == nullptr) return {{.lane = lane, .index = next_[lane]}};
    Turn turn;
    for (std::size_t other = 0; other < lanes_.size(); ++other) {
      if (!is_ready(other) || head(other).shared_launch != shared_launch) continue;
      turn.push_back({.lane = other, .index = next_[other]});
    }
    return turn.size() == shared_launch->members ? turn : Turn();
  }

  /// The ready turn whose first node comes first in the graph; empty if none is ready.
  Turn next_turn() const {
    Turn first;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      Turn turn = turn_of(lane);
      if (turn.empty()) continue;
      if (first.empty() || node_at(turn.front()) < node_at(first.front())) first = std::move(turn);
    }
    return first;
  }

  void take(const Turn& turn) {
    for (const Stand& stand : turn) ++next_[stand.lane];
  }
  bool are_done() const {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      if (next_[lane] < lanes_[lane].size()) return false;
    }
    return true;
  }

 private:
  const QueuedNode& head(std::size_t lane) const { return lanes_[lane][next_[lane]]; }
  NodeId node_at(const Stand& stand) const { return lanes_[stand.lane][stand.index].node; }
  bool is_ready(std::size_t lane) const {
    if (next_[lane] == lanes_[lane].size()) return false;
    const std::vector<Stand>& waits = head(lane).waits;
    return std::all_of(waits.begin(), waits.end(),
                       [&](const Stand& wait) { return wait.index < next_[wait.lane]; });
  }

  std::span<const std::vector<QueuedNode>> lanes_;
  std::vector<std::size_t> next_;
};

}  // namespace

std::vector<Turn> order_turns(std::span<const std::vector<QueuedNode>> lanes) {
  Heads heads(lanes);
  std::vector<Turn> turns;
  while (!heads.are_done()) {
    turns.push_back(heads.next_turn());
    check(!turns.back().empty(),
          "lanes of a loop come to their meetings in one order and wait in no circle");
    heads.take(turns.back());
  }
  return turns;
}

}  // namespace regatta
