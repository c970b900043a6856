// SPDX-License-Identifier: Apache-2.0
#include "strategies/whole_updates.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/copier.h"
#include "strategies/shares.h"

namespace regatta::strategies {
namespace {

bool is_to_deal(const Graph& graph, const Trainable& trainable) {
  return is_to_share(graph.node(trainable.gradient.node)) && updates_whole(graph, trainable);
}

/// A parameter that has a copy in each replica until it is assigned to an owner.
struct Dealt {
  std::vector<const Trainable*> copies;  ///< by member of the sum
  const Trainable* owned = nullptr;
  std::size_t sums = 0;                 ///< number of its sums visited so far
  std::map<ElementType, Value> values;  ///< the owner's value, read or cast
};

class Dealer {
 public:
  explicit Dealer(const Step& source) : source_(source), result_(source), copier_(source.graph) {
    result_.graph = Graph();
    result_.trainables.clear();
    for (const Trainable& trainable : source.trainables) {
      if (!is_to_deal(graph(), trainable)) continue;
      const Node& sum = graph().node(trainable.gradient.node);
      Dealt& dealt = dealt_[sum.attributes.integer("group")];
      dealt.copies.resize(static_cast<std::size_t>(sum.attributes.integer("members")));
      dealt.copies.at(static_cast<std::size_t>(sum.member)) = &trainable;
    }
    choose_owners();
    for (auto& [group, dealt] : dealt_) {
      for (const Trainable* copy : dealt.copies) {
        for (NodeId update : copy->updates) {
          for (VariableId v : graph().node(update).variables) state_[v] = {&dealt, copy};
          if (copy != dealt.owned) dropped_.insert(update);
        }
      }
    }
  }

  Step run() {
    for (VariableId v = 0; v < std::ssize(graph().variables()); ++v) {
      if (owns(v)) copier_.map_variable(v, result_.graph.add(graph().variable(v)));
    }
    for (NodeId id = 0; id < std::ssize(graph().nodes()); ++id) place(id);
    for (const Trainable& trainable : source_.trainables) {
      if (owns(trainable.variable)) result_.trainables.push_back(trainable);
    }
    copier_.rename(result_);
    return std::move(result_);
  }

 private:
  struct State {
    Dealt* dealt;
    const Trainable* copy;
  };

  const Graph& graph() const { return source_.graph; }

  bool owns(VariableId v) const {
    const auto state = state_.find(v);
    return state == state_.end() || state->second.copy == state->second.dealt->owned;
  }

  /// Assigns parameters to owners, the largest first, each to the place that owns the fewest bytes.
  void choose_owners() {
    std::vector<Dealt*> order;
    for (auto& [group, dealt] : dealt_) order.push_back(&dealt);
    const auto bytes = [&](const Dealt* dealt) {
      return graph().variable(dealt->copies.front()->variable).type.bytes();
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](const Dealt* a, const Dealt* b) { return bytes(a) > bytes(b); });
    std::map<Place, std::int64_t> owned;
    for (Dealt* dealt : order) {
      const auto load = [&](const Trainable* copy) -> std::int64_t& {
        return owned[graph().node(copy->gradient.node).place];
      };
      dealt->owned =
          *std::min_element(dealt->copies.begin(), dealt->copies.end(),
                            [&](const auto* a, const auto* b) { return load(a) < load(b); });
      load(dealt->owned) += bytes(dealt);
    }
  }

  void place(NodeId id) {
    const Node& node = graph().node(id);
    if (dropped_.contains(id)) return;
    if (node.op == Op::AllReduce && dealt_.contains(node.attributes.integer("group"))) {
      return sum(dealt_.at(node.attributes.integer("group")));
    }
    if (Dealt* const dealt = read_by(node)) {
      Value& value = dealt->values[node.outputs[0].element];
      if (!value.exists()) value = add_for_owner(node, *dealt);
      return copier_.map({id, 0}, value);
    }
    copier_.copy(id, result_.graph);
  }

  /// The parameter that the node reads or casts; null if there is none.
  Dealt* read_by(const Node& node) const {
    const Node& read = node.op == Op::Cast ? graph().node(node.inputs[0].node) : node;
    if (read.op != Op::Read || !state_.contains(read.variables[0])) return nullptr;
    return state_.at(read.variables[0]).dealt;
  }

  /// Other replicas receive the owner's cast value.
  Value add_for_owner(const Node& node, const Dealt& dealt) {
    Builder builder(result_.graph);
    builder.at(owner_of(dealt)).in(node.phase).layer(node.layer);
    return node.op == Op::Read
               ? builder.read(copier_.variable(dealt.owned->variable))
               : builder.cast(dealt.values.at(ElementType::F32), node.outputs[0].element);
  }

  Place owner_of(const Dealt& dealt) const {
    return graph().node(dealt.owned->gradient.node).place;
  }

  /// Appends the owner's sum in place of the last member's.
  void sum(Dealt& dealt) {
    if (++dealt.sums < dealt.copies.size()) return;
    const Node& own = graph().node(dealt.owned->gradient.node);
    if (is_replaced(own)) {
      return copier_.map(dealt.owned->gradient, copier_.value(own.inputs[0]));
    }
    std::vector<Value> terms;
    for (const Trainable* copy : dealt.copies) {
      terms.push_back(copier_.value(graph().node(copy->gradient.node).inputs[0]));
    }
    Builder builder(result_.graph);
    builder.at(own.place).in(Phase::Update).layer(own.layer);
    copier_.map(dealt.owned->gradient, builder.sum(terms));
  }

  const Step& source_;
  Step result_;
  Copier copier_;
  std::map<std::int64_t, Dealt> dealt_;  ///< by group of the sum
  std::map<VariableId, State> state_;    ///< parameters and slots that are dealt
  std::set<NodeId> dropped_;             ///< updates of replicas that are not the owner
};

}  // namespace

bool updates_whole(const Graph& graph, const Trainable& trainable) {
  return std::any_of(trainable.updates.begin(), trainable.updates.end(), [&](NodeId update) {
    return op_info(graph.node(update).op).portions != Portions::Elements;
  });
}

bool has_whole_updates_to_deal(const Step& step) {
  return std::any_of(step.trainables.begin(), step.trainables.end(),
                     [&](const Trainable& each) { return is_to_deal(step.graph, each); });
}

Step deal_whole_updates(const Step& step) { return Dealer(step).run(); }

}  // namespace regatta::strategies
