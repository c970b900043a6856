// SPDX-License-Identifier: Apache-2.0
#include "strategies/shares.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/copier.h"
#include "kernels/graph/listed_types.h"

namespace regatta::strategies {
namespace {

/// Attribute of a sum to be divided: whether gradients are freed, whether gathered parameters are,
/// and whether another exchange made the sum.
constexpr std::string_view kMark = "shares";
/// Keeps sums that another exchange made out of the buckets of other sums.
constexpr std::string_view kRound = "round";
constexpr std::int64_t kBehindAllRounds = 100;

/// The attributes of the collectives that replace a marked sum.
Attributes without_mark(const Attributes& marked) {
  Attributes others;
  for (const auto& [name, value] : marked.values()) {
    if (name != kMark && name != kRound) others.set(name, value);
  }
  return others;
}

/// `name[begin:end]`: elements of a variable.
std::string name_of_elements(const std::string& name, const Range& elements) {
  return name + '[' + std::to_string(elements.begin) + ':' + std::to_string(elements.end) + ']';
}

Variable part_of_variable(const Variable& whole, const Range& elements) {
  if (elements.size() == whole.type.elements()) return whole;
  Variable part = whole;
  part.name = name_of_elements(whole.name, elements);
  part.part_of = PartOf{.name = whole.name, .type = whole.type, .row = elements.begin};
  part.type.dims = {elements.size()};
  return part;
}

/// One gathering of a bucket's parameters at a worker: for the whole step, or for one pass, forward
/// or backward, or for two that follow each other.
struct Use {
  NodeId sum = -1;        ///< the sum of their gradients
  std::int64_t pass = 0;  ///< number of the first pass
  NodeId first = -1;      ///< first reader
  NodeId last = -1;
};

/// Divides the state of summed replicas.
class Shares {
 public:
  Shares(const Step& replicas, const FreedEarly& freed_early)
      : source_(replicas),
        freed_early_(freed_early),
        groups_(first_free_group(replicas.graph)),
        copier_(replicas.graph) {
    result_.global_batch = replicas.global_batch;
    result_.normalization_group = replicas.normalization_group;
    result_.gradient_clip = replicas.gradient_clip;
    for (std::size_t t = 0; t < source_.trainables.size(); ++t) find_state(t);
    for (NodeId id = 0; id < nodes(); ++id) {
      if (is_to_share(source_.graph.node(id))) deal(id);
    }
    number_passes();
    find_uses();
  }

  Step run() {
    const Graph& graph = source_.graph;
    for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
      add_variable(v);
    }
    for (const Turn& turn : order()) {
      turn.kind == Kind::Gather ? gather(static_cast<std::size_t>(turn.index)) : place(turn.index);
    }
    for (const Trainable& trainable : source_.trainables) {
      const bool is_shared = parameter_of_.contains(trainable.gradient);
      if (is_shared && !pieces_.contains(trainable.gradient)) continue;
      Trainable kept{.variable = copier_.variable(trainable.variable),
                     .gradient = copier_.value(trainable.gradient),
                     .updates = {}};
      for (NodeId id : trainable.updates) kept.updates.push_back(placed_.at(id));
      result_.trainables.push_back(std::move(kept));
    }
    for (Value loss : source_.losses) result_.losses.push_back(copier_.value(loss));
    return std::move(result_);
  }

 private:
  /// A node of the new graph, by its position: at a node of the source, before it or after it.
  enum class Kind : std::uint8_t { Gather, Node, Sum, Update };
  struct Turn {
    NodeId at = -1;
    Kind kind = Kind::Node;
    int index = 0;  ///< index of a use, or a node
    auto operator<=>(const Turn&) const = default;
  };

  NodeId nodes() const { return static_cast<NodeId>(source_.graph.nodes().size()); }

  void find_state(std::size_t t) {
    const Trainable& trainable = source_.trainables[t];
    if (!is_to_share(source_.graph.node(trainable.gradient.node))) return;  // whole_updates.h
    parameter_of_[trainable.gradient] = trainable.variable;
    for (NodeId update : trainable.updates) {
      gradient_of_[update] = trainable.gradient;
      for (VariableId v : source_.graph.node(update).variables) {
        gradient_of_state_[v] = trainable.gradient;
      }
    }
  }

  void deal(NodeId id) {
    const Node& sum = source_.graph.node(id);
    sums_[sum.attributes.integer("group")].push_back(id);
    summed_.insert(sum.inputs.begin(), sum.inputs.end());
    for (const Piece& piece : pieces(sum.outputs, sum.attributes.integer("members"), sum.member)) {
      pieces_[{id, static_cast<int>(piece.tensor)}] = piece.elements;
    }
  }

  void add_variable(VariableId v) {
    const Variable& variable = source_.graph.variable(v);
    const auto gradient = gradient_of_state_.find(v);
    if (gradient == gradient_of_state_.end()) {
      copier_.map_variable(v, result_.graph.add(variable));
      return;
    }
    const auto piece = pieces_.find(gradient->second);
    if (piece == pieces_.end()) return;  // belongs to another worker
    copier_.map_variable(v, result_.graph.add(part_of_variable(variable, piece->second)));
  }

  /// Numbers the passes, forward and backward in turn, of the nodes of each worker; microbatches
  /// have passes of their own. All nodes are of one pass if gathered parameters are not freed.
  void number_passes() {
    std::map<Place, std::int64_t> latest;
    for (NodeId id = 0; id < nodes(); ++id) {
      const Node& node = source_.graph.node(id);
      std::int64_t& pass = latest[node.place];
      const bool computes = node.phase == Phase::Forward || node.phase == Phase::Backward;
      if (computes && (pass % 2 == 1) != (node.phase == Phase::Backward)) ++pass;
      pass_of_.push_back(freed_early_.parameters && computes ? pass : 0);
    }
  }

  /// Finds the uses; a gathered parameter, or a cast of one, is made anew for each use.
  void find_uses() {
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
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      uses_at_[source_.graph.node(uses_[i].sum).place].push_back(i);
    }
  }

  /// Merges the two uses of a bucket with which one pass ends and the next begins.
  void join_uses() {
    std::map<Place, std::size_t> latest;
    std::vector<Use> joined;
    for (const Use& use : uses_) {
      const auto [entry, is_first] =
          latest.try_emplace(source_.graph.node(use.sum).place, joined.size());
      Use* const before = is_first ? nullptr : &joined[entry->second];
      if (before != nullptr && before->sum == use.sum) {
        before->last = use.last;
      } else {
        entry->second = joined.size();
        joined.push_back(use);
      }
      use_of_[{use.sum, use.pass}] = entry->second;
    }
    uses_ = std::move(joined);
  }

  /// The use that is `many` places before this one at its worker; null if there is none.
  const Use* before(std::size_t use, std::ptrdiff_t many) const {
    const std::vector<std::size_t>& all = uses_at_.at(source_.graph.node(uses_[use].sum).place);
    const std::ptrdiff_t at = std::find(all.begin(), all.end(), use) - all.begin() - many;
    return at < 0 ? nullptr : &uses_[all[static_cast<std::size_t>(at)]];
  }

  void gather(std::size_t index) {
    const Use& use = uses_[index];
    const Node& sum = source_.graph.node(use.sum);
    Builder builder(result_.graph);
    builder.at(sum.place).in(Phase::Forward).layer(sum.layer);
    std::vector<Value> inputs;
    for (int k = 0; k < static_cast<int>(sum.outputs.size()); ++k) {
      if (!pieces_.contains({use.sum, k})) continue;
      inputs.push_back(builder.read(copier_.variable(parameter_of_.at({use.sum, k}))));
    }
    Attributes attributes = without_mark(sum.attributes);
    attributes.set("group", (use.pass + 1) * groups_ + sum.attributes.integer("group"));
    list_types(attributes, sum.outputs);
    if (freed_early_.parameters) {
      attributes.set("frees", std::int64_t{1});
      if (const Value value = left_by(before(index, 2)); value.exists()) inputs.push_back(value);
    }
    const Value first = builder.node(Op::AllGather, inputs, attributes, {}, sum.member);
    for (int k = 0; k < static_cast<int>(sum.outputs.size()); ++k) {
      gathered_[{parameter_of_.at({use.sum, k}), index}] = {first.node, k};
    }
  }

  /// A value that exists once a use is over.
  Value left_by(const Use* use) const {
    if (use == nullptr || !placed_.contains(use->last)) return {};
    for (int i = 0; i < static_cast<int>(source_.graph.node(use->last).outputs.size()); ++i) {
      if (!summed_.contains({use->last, i})) return copier_.value({use->last, i});
    }
    return {};
  }

  void place(NodeId id) {
    const Node& node = source_.graph.node(id);
    if (sum_of_carrier_.contains(id)) return;
    if (is_to_share(node)) {
      is_replaced(node) ? divide(id) : scatter(id);
      return;
    }
    const auto gradient = gradient_of_.find(id);
    if (gradient != gradient_of_.end() && !pieces_.contains(gradient->second)) return;
    for (Value input : node.inputs) {
      const auto carrier = sum_of_carrier_.find(input.node);
      if (carrier == sum_of_carrier_.end()) continue;
      carry(input, use_of_.at({carrier->second, pass_of_[static_cast<std::size_t>(id)]}));
    }
    placed_[id] = copier_.copy(id, result_.graph);
  }

  /// Maps a parameter, or a cast of one, to the value gathered for this use.
  void carry(Value value, std::size_t use) {
    const Node& node = source_.graph.node(value.node);
    if (node.op == Op::Read) {
      copier_.map(value, gathered_.at({node.variables[0], use}));
      return;
    }
    Value& cast = casts_[{value.node, use}];
    if (!cast.exists()) {
      carry(node.inputs[0], use);
      cast = {copier_.copy(value.node, result_.graph), 0};
    }
    copier_.map(value, cast);
  }

  void scatter(NodeId id) {
    Node node = copier_.translate(id);
    node.op = Op::ReduceScatter;
    node.attributes = without_mark(node.attributes);
    const NodeId scattered = result_.graph.add(std::move(node));
    int output = 0;
    for (int k = 0; k < static_cast<int>(source_.graph.node(id).outputs.size()); ++k) {
      if (pieces_.contains({id, k})) copier_.map({id, k}, {scattered, output++});
    }
  }

  /// Maps the sum's outputs to the share of a sum that every worker has whole.
  void divide(NodeId id) {
    const Node& sum = source_.graph.node(id);
    Builder builder(result_.graph);
    builder.at(sum.place).in(sum.phase).layer(sum.layer);
    for (int k = 0; k < static_cast<int>(sum.outputs.size()); ++k) {
      const auto piece = pieces_.find({id, k});
      if (piece == pieces_.end()) continue;
      const auto& [begin, end] = piece->second;
      Value own = copier_.value(sum.inputs[static_cast<std::size_t>(k)]);
      if (end - begin < source_.graph.type({id, k}).elements()) {
        own = builder.slice(builder.flatten(own), begin, end - begin);
      }
      copier_.map({id, k}, own);
    }
  }

  /// The order of the new graph. All parameters are gathered at the start or, to free them, each
  /// bucket's when the use before it begins. To free gradients, a sum comes after the last gradient
  /// of its bucket, and the updates after the next bucket's sum.
  std::vector<Turn> order() const {
    std::vector<Turn> turns;
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      const Use* one_before = freed_early_.parameters ? before(i, 1) : nullptr;
      turns.push_back({.at = one_before == nullptr ? -1 : one_before->first,
                       .kind = Kind::Gather,
                       .index = static_cast<int>(i)});
    }
    std::map<NodeId, NodeId> ready;  // by sum: the node that makes its last gradient
    std::map<NodeId, NodeId> next;   // by sum: the worker's next sum
    std::map<Place, NodeId> latest;
    for (const auto& [group, members] : sums_) {
      for (NodeId id : members) {
        NodeId& last = ready[id];
        for (Value input : source_.graph.node(id).inputs) last = std::max(last, input.node);
        const auto [entry, is_first] = latest.try_emplace(source_.graph.node(id).place, id);
        if (!is_first) next[std::exchange(entry->second, id)] = id;
      }
    }
    for (NodeId id = 0; id < nodes(); ++id) {
      Turn turn{.at = id, .kind = Kind::Node, .index = id};
      const auto update = gradient_of_.find(id);
      if (freed_early_.gradients && ready.contains(id)) {
        turn = {.at = ready.at(id), .kind = Kind::Sum, .index = id};
      } else if (freed_early_.gradients && update != gradient_of_.end()) {
        const NodeId sum = update->second.node;
        const auto later = next.find(sum);
        const NodeId at =
            later == next.end() ? nodes() : std::max(ready.at(sum), ready.at(later->second));
        turn = {.at = at, .kind = Kind::Update, .index = id};
      }
      turns.push_back(turn);
    }
    std::sort(turns.begin(), turns.end());
    return turns;
  }

  const Step& source_;
  FreedEarly freed_early_;
  std::int64_t groups_;
  Copier copier_;
  Step result_;
  std::map<std::int64_t, std::vector<NodeId>> sums_;  ///< by group
  std::map<Value, Range> pieces_;                     ///< by sum of a gradient; only this worker's
  std::map<Value, VariableId> parameter_of_;          ///< by sum of a gradient
  std::map<NodeId, Value> gradient_of_;               ///< by update
  std::map<VariableId, Value> gradient_of_state_;     ///< by parameter and slot
  std::set<Value> summed_;                            ///< gradients that are summed
  std::map<NodeId, NodeId> sum_of_carrier_;           ///< by read or cast of a parameter
  std::vector<Use> uses_;
  std::vector<std::int64_t> pass_of_;                              ///< by node
  std::map<std::pair<NodeId, std::int64_t>, std::size_t> use_of_;  ///< by sum and pass: an index
  std::map<Place, std::vector<std::size_t>> uses_at_;
  std::map<std::pair<VariableId, std::size_t>, Value> gathered_;  ///< by parameter and use
  std::map<std::pair<NodeId, std::size_t>, Value> casts_;         ///< by cast and use
  std::map<NodeId, NodeId> placed_;
};

}  // namespace

Step to_share(const Step& replicas, const FreedEarly& freed_early) {
  Step result = replicas;
  result.graph = Graph();
  Copier copier(replicas.graph);
  copier.copy_variables(result.graph);
  for (NodeId id = 0; id < static_cast<NodeId>(replicas.graph.nodes().size()); ++id) {
    if (replicas.graph.node(id).op != Op::AllReduce) {
      copier.copy(id, result.graph);
      continue;
    }
    Node sum = copier.translate(id);
    sum.attributes.set(kMark,
                       std::vector<std::int64_t>{freed_early.gradients, freed_early.parameters, 0});
    copier.map_outputs(id, result.graph.add(std::move(sum)));
  }
  copier.rename(result);
  return result;
}

bool is_to_share(const Node& node) { return node.attributes.has(kMark); }

Value replacement_of(const Node& sum, Value made, Builder& builder) {
  if (!is_to_share(sum)) return made;
  Attributes attributes = sum.attributes;
  std::vector<std::int64_t> mark = sum.attributes.integers(kMark);
  mark[2] = 1;
  attributes.set(kMark, std::move(mark));
  attributes.set(kRound, kBehindAllRounds);
  return builder.node(Op::AllReduce, {made}, std::move(attributes), {}, sum.member);
}

bool is_replaced(const Node& node) {
  return is_to_share(node) && node.attributes.integers(kMark)[2] != 0;
}

bool has_sums_to_share(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), is_to_share);
}

Step apply_sharding(const Step& step) {
  const auto& nodes = step.graph.nodes();
  const auto marked = std::find_if(nodes.begin(), nodes.end(), is_to_share);
  const std::vector<std::int64_t>& freed_early = marked->attributes.integers(kMark);
  return Shares(step, {.gradients = freed_early[0] != 0, .parameters = freed_early[1] != 0}).run();
}

}  // namespace regatta::strategies
