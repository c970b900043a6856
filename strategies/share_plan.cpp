// SPDX-License-Identifier: Apache-2.0
#include "strategies/share_plan.h"

#include <algorithm>

namespace regatta::strategies {

SharePlan::SharePlan(const Step& replicas, const FreedEarly& freed_early)
    : source_(replicas), freed_early_(freed_early) {
  for (std::size_t t = 0; t < source_.trainables.size(); ++t) find_state(t);
  number_passes();
  find_uses();
}

/// Returns the first marked sum of which a gradient consists, and notes the sums over microbatches
/// on the way to it; none if the gradient is not shared.
Value SharePlan::first_sum(Value gradient) {
  const Node& node = source_.graph.node(gradient.node);
  if (is_to_share(node)) return gradient;
  if (node.op != Op::Sum || !is_to_share(source_.graph.node(node.inputs.back().node))) return {};
  added_[gradient] = node.inputs.back();
  return first_sum(node.inputs.front());
}

void SharePlan::find_state(std::size_t t) {
  const Trainable& trainable = source_.trainables[t];
  const Value first = first_sum(trainable.gradient);
  if (!first.exists()) return;  // whole_updates.h
  parameter_of_[first] = parameter_of_[trainable.gradient] = trainable.variable;
  for (NodeId update : trainable.updates) {
    gradient_of_[update] = trainable.gradient;
    for (VariableId v : source_.graph.node(update).variables) {
      gradient_of_state_[v] = first;
    }
  }
}

/// Numbers the passes, forward and backward in turn, of the nodes of each worker; microbatches have
/// passes of their own. A forward pass and the backward pass behind it are one if parameters stay
/// from one to the other, and all nodes are of one pass if gathered parameters are not freed.
void SharePlan::number_passes() {
  std::map<Place, std::int64_t> latest;
  for (NodeId id = 0; id < nodes(); ++id) {
    const Node& node = source_.graph.node(id);
    std::int64_t& pass = latest[node.place];
    const bool computes = node.phase == Phase::Forward || node.phase == Phase::Backward;
    if (computes && (pass % 2 == 1) != (node.phase == Phase::Backward)) ++pass;
    pass_of_.push_back(!freed_early_.parameters || !computes ? 0
                       : freed_early_.after_forward          ? pass
                                                             : pass / 2);
  }
}

/// Finds the uses; a gathered parameter, or a cast of one, is made anew for each use.
void SharePlan::find_uses() {
  std::map<std::pair<NodeId, std::int64_t>, Use> uses;
  for (NodeId id = 0; id < nodes(); ++id) {
    const Node& node = source_.graph.node(id);
    if (node.op == Op::Read && gradient_of_state_.contains(node.variables[0])) {
      sum_of_carrier_[id] = gradient_of_state_.at(node.variables[0]).node;
    }
    for (Value input : node.inputs) {
      const auto carrier = sum_of_carrier_.find(input.node);
      if (carrier == sum_of_carrier_.end()) continue;
      const NodeId sum = carrier->second;
      if (node.op == Op::Cast) {
        sum_of_carrier_[id] = sum;
        continue;
      }
      const std::int64_t pass = pass_of_[static_cast<std::size_t>(id)];
      Use& use = uses.try_emplace({sum, pass}, Use{sum, pass, id, id}).first->second;
      use.last = id;
    }
  }
  for (const auto& [key, use] : uses) uses_.push_back(use);
  // Uses by one node stay in the order of the sums, the same at every worker.
  std::stable_sort(uses_.begin(), uses_.end(),
                   [](const Use& a, const Use& b) { return a.first < b.first; });
  join_uses();
}

/// Merges two uses of a bucket if it would be gathered again before it is free, or as soon as it
/// is: those with which one pass ends and the next begins, and those of tied weights.
void SharePlan::join_uses() {
  constexpr std::size_t kGathered = 2;                    // buckets that have memory at a time
  std::map<Place, std::map<NodeId, std::size_t>> latest;  // by place and sum: its last use
  std::vector<Use> joined;
  for (const Use& use : uses_) {
    std::vector<std::size_t>& here = uses_at_[place_of(use)];
    const auto [entry, is_first] = latest[place_of(use)].try_emplace(use.sum, joined.size());
    if (!is_first) {
      Use& before = joined[entry->second];
      const auto recent =
          here.end() - static_cast<std::ptrdiff_t>(std::min(kGathered, here.size()));
      if (std::find(recent, here.end(), entry->second) != here.end() ||
          before.last >= joined[here.back()].first) {
        before.last = std::max(before.last, use.last);
        use_of_[{use.sum, use.pass}] = entry->second;
        continue;
      }
      entry->second = joined.size();
    }
    use_of_[{use.sum, use.pass}] = joined.size();
    here.push_back(joined.size());
    joined.push_back(use);
  }
  uses_ = std::move(joined);
  find_earlier();
}

/// Uses of a place begin in their order, so those that have ended by then are a growing part of
/// them in the order of their ends.
void SharePlan::find_earlier() {
  one_before_.assign(uses_.size(), -1);
  ended_before_.assign(uses_.size(), -1);
  for (const auto& [place, begun] : uses_at_) {
    std::vector<std::size_t> ended = begun;
    std::sort(ended.begin(), ended.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(uses_[a].last, b) < std::pair(uses_[b].last, a);  // of equals: the first
    });
    std::size_t over = 0;
    for (std::size_t i = 1; i < begun.size(); ++i) {
      const std::size_t before = begun[i - 1];
      while (over < ended.size() && uses_[ended[over]].last < uses_[before].first) ++over;
      one_before_[begun[i]] = static_cast<int>(before);
      if (over > 0) ended_before_[begun[i]] = static_cast<int>(ended[over - 1]);
    }
  }
}

std::vector<Turn> SharePlan::order() const {
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    const Use* begun = freed_early_.parameters ? at(one_before_[i]) : nullptr;
    turns.push_back({.at = begun == nullptr ? -1 : begun->first,
                     .kind = Turn::Kind::Gather,
                     .index = static_cast<int>(i)});
  }
  std::map<NodeId, NodeId> ready;  // by sum: the node that makes its last gradient
  std::map<NodeId, NodeId> next;   // by sum: the worker's next sum
  std::map<Place, NodeId> latest;
  std::map<std::int64_t, std::vector<NodeId>> sums;  // by group
  for (NodeId id = 0; id < nodes(); ++id) {
    const Node& node = source_.graph.node(id);
    if (is_to_share(node)) sums[node.attributes.integer("group")].push_back(id);
  }
  for (const auto& [group, members] : sums) {
    for (NodeId id : members) {
      NodeId& last = ready[id];
      for (Value input : source_.graph.node(id).inputs) last = std::max(last, input.node);
      const auto [entry, is_first] = latest.try_emplace(source_.graph.node(id).place, id);
      if (!is_first) next[std::exchange(entry->second, id)] = id;
    }
  }
  const auto behind_next = [&](NodeId sum, NodeId if_last) {
    const auto later = next.find(sum);
    if (later == next.end() || ready.at(later->second) > if_last) return if_last;
    return std::max(ready.at(sum), ready.at(later->second));
  };
  for (NodeId id = 0; id < nodes(); ++id) {
    Turn turn{.at = id, .kind = Turn::Kind::Node, .index = id};
    const auto update = gradient_of_.find(id);
    const auto added = added_.find({id, 0});
    if (freed_early_.gradients && ready.contains(id)) {
      turn = {.at = ready.at(id), .kind = Turn::Kind::Sum, .index = id};
    } else if (added != added_.end()) {
      const NodeId at = behind_next(added->second.node, id);
      turn = {.at = at, .kind = Turn::Kind::Update, .index = id};
    } else if (freed_early_.gradients && update != gradient_of_.end()) {
      const auto last = added_.find(update->second);
      const NodeId sum = last == added_.end() ? update->second.node : last->second.node;
      turn = {.at = behind_next(sum, nodes()), .kind = Turn::Kind::Update, .index = id};
    }
    turns.push_back(turn);
  }
  std::sort(turns.begin(), turns.end());
  return turns;
}

}  // namespace regatta::strategies
