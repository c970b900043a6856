// SPDX-License-Identifier: Apache-2.0
#include "strategies/shares.h"

#include <algorithm>
#include <cstdint>
#include <functional>
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
#include "strategies/share_plan.h"

namespace regatta::strategies {
namespace {

/// Attribute of a sum to be divided: whether another exchange made the sum, then the fields of
/// FreedEarly.
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
  if (part.part_of) {  // rows of a shard
    part.part_of->rows = whole.type;
    part.part_of->first = elements.begin;
  } else {
    part.part_of = PartOf{.name = whole.name, .type = whole.type, .row = elements.begin};
  }
  part.type.dims = {elements.size()};
  return part;
}

/// Divides the state of summed replicas.
class Shares {
 public:
  Shares(const Step& replicas, const FreedEarly& freed_early)
      : source_(replicas),
        frees_parameters_(freed_early.parameters),
        keeps_pieces_(freed_early.gradients && replicas.gradient_clip > 0),
        plan_(replicas, freed_early),
        groups_(first_free_group(replicas.graph)),
        copier_(replicas.graph) {
    result_.global_batch = replicas.global_batch;
    result_.normalization_group = replicas.normalization_group;
    result_.gradient_clip = replicas.gradient_clip;
    result_.alike = replicas.alike;
    for (NodeId id = 0; id < static_cast<NodeId>(replicas.graph.nodes().size()); ++id) {
      const Node& node = source_.graph.node(id);
      if (node.op == Op::AllReduce || node.op == Op::ReduceScatter) {
        for (Value input : node.inputs) reduced_[input] = id;
      }
      if (!is_to_share(node)) continue;
      deal(id);
      ++buckets_[source_.graph.node(id).place];
    }
    for (const auto& [sum, added] : plan_.accumulations()) {
      const auto piece = pieces_.find(added);
      if (piece != pieces_.end()) pieces_[sum] = piece->second;
    }
  }

  Step run() {
    const Graph& graph = source_.graph;
    for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
      add_variable(v);
    }
    for (const Turn& turn : plan_.order()) {
      turn.kind == Turn::Kind::Gather ? gather(static_cast<std::size_t>(turn.index))
                                      : place(turn.index);
    }
    for (const Trainable& trainable : source_.trainables) {
      const bool is_shared = plan_.parameters().contains(trainable.gradient);
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
  void deal(NodeId id) {
    const Node& sum = source_.graph.node(id);
    for (const Piece& piece : pieces(sum.outputs, sum.attributes.integer("members"), sum.member)) {
      pieces_[{id, static_cast<int>(piece.tensor)}] = piece.elements;
    }
  }

  void add_variable(VariableId v) {
    const Variable& variable = source_.graph.variable(v);
    const auto gradient = plan_.gradients_of_state().find(v);
    if (gradient == plan_.gradients_of_state().end()) {
      copier_.map_variable(v, result_.graph.add(variable));
      return;
    }
    const auto piece = pieces_.find(gradient->second);
    if (piece == pieces_.end()) return;  // belongs to another worker
    copier_.map_variable(v, result_.graph.add(part_of_variable(variable, piece->second)));
  }

  void gather(std::size_t index) {
    const Use& use = plan_.uses()[index];
    const Node& sum = source_.graph.node(use.sum);
    Builder builder(result_.graph);
    builder.at(sum.place).in(Phase::Forward).layer(sum.layer);
    std::vector<Value> inputs;
    for (int k = 0; k < static_cast<int>(sum.outputs.size()); ++k) {
      if (!pieces_.contains({use.sum, k})) continue;
      inputs.push_back(builder.read(copier_.variable(plan_.parameters().at({use.sum, k}))));
    }
    Attributes attributes = without_mark(sum.attributes);
    attributes.set("group", (use.pass + 1) * groups_ + sum.attributes.integer("group"));
    list_types(attributes, sum.outputs);
    if (frees_parameters_) {
      attributes.set("frees", std::int64_t{1});
      if (const Value value = left_by(plan_.ended_before(index)); value.exists())
        inputs.push_back(value);
    }
    const Value first = builder.node(Op::AllGather, inputs, attributes, {}, sum.member);
    for (int k = 0; k < static_cast<int>(sum.outputs.size()); ++k) {
      gathered_[{plan_.parameters().at({use.sum, k}), index}] = {first.node, k};
    }
  }

  /// A value that exists once a use is over. A term of a sum of shards has no other reader.
  Value left_by(const Use* use) const {
    if (use == nullptr || !placed_.contains(use->last)) return {};
    for (int i = 0; i < static_cast<int>(source_.graph.node(use->last).outputs.size()); ++i) {
      const auto sum = reduced_.find({use->last, i});
      const Value left = sum == reduced_.end() ? Value{use->last, i} : Value{sum->second, 0};
      if (!is_to_share(source_.graph.node(left.node)) && copier_.knows(left)) {
        return copier_.value(left);
      }
    }
    return {};
  }

  void place(NodeId id) {
    const Node& node = source_.graph.node(id);
    if (plan_.carries(id)) return;
    if (is_to_share(node)) {
      is_replaced(node) ? divide(id) : scatter(id);
      return;
    }
    if (plan_.accumulations().contains({id, 0}) && !pieces_.contains({id, 0})) return;
    const auto gradient = plan_.gradients_of_updates().find(id);
    if (gradient != plan_.gradients_of_updates().end()) {
      if (!pieces_.contains(gradient->second)) return;
      if (keeps_pieces_ && is_to_share(source_.graph.node(gradient->second.node))) {
        keep(gradient->second);
      }
    }
    for (Value input : node.inputs) {
      if (plan_.carries(input.node)) carry(input, plan_.use_of(id, input.node));
    }
    placed_[id] = copier_.copy(id, result_.graph);
  }

  /// Copies the share of a sum out of its bucket, whose memory is free then, although the update
  /// waits for the norm of all gradients. With two buckets neither is free for another.
  void keep(Value sum) {
    const Node& node = source_.graph.node(sum.node);
    if (buckets_.at(node.place) <= 2 || !kept_.insert(sum).second) return;
    Builder builder(result_.graph);
    builder.at(node.place).in(Phase::Backward).layer(node.layer);
    copier_.map(sum, builder.node(Op::Sum, {copier_.value(sum)}, {{"factor", 1.0}}));
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

  const Step& source_;
  bool frees_parameters_;
  bool keeps_pieces_;
  SharePlan plan_;
  std::int64_t groups_;
  Copier copier_;
  Step result_;
  std::map<Value, Range> pieces_;    ///< by sum of a gradient; only this worker's
  std::map<Value, NodeId> reduced_;  ///< by term: the collective that sums it
  std::set<Value> kept_;             ///< sums whose shares are copied
  std::map<Place, int> buckets_;
  std::map<std::pair<VariableId, std::size_t>, Value> gathered_;  ///< by parameter and use
  std::map<std::pair<NodeId, std::size_t>, Value> casts_;         ///< by cast and use
  std::map<NodeId, NodeId> placed_;
};

/// Returns the step with its all_reduces changed.
Step with_changed_sums(const Step& replicas, const std::function<void(Node& sum)>& change) {
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
    change(sum);
    copier.map_outputs(id, result.graph.add(std::move(sum)));
  }
  copier.rename(result);
  return result;
}

}  // namespace

Step in_units(const Step& replicas) {
  return with_changed_sums(replicas, [](Node& sum) {
    sum.attributes.set("unit", sum.layer.substr(0, sum.layer.find('.')));
  });
}

Step to_share(const Step& replicas, const FreedEarly& freed_early) {
  return with_changed_sums(replicas, [&](Node& sum) {
    sum.attributes.set(kMark,
                       std::vector<std::int64_t>{0, freed_early.gradients, freed_early.parameters,
                                                 freed_early.after_forward});
  });
}

bool is_to_share(const Node& node) { return node.attributes.has(kMark); }

bool frees_gradients(const Node& node) {
  return is_to_share(node) && !is_replaced(node) && node.attributes.integers(kMark)[1] != 0;
}

Value replacement_of(const Node& sum, Value made, Builder& builder) {
  if (!is_to_share(sum)) return made;
  Attributes attributes = sum.attributes;
  std::vector<std::int64_t> mark = sum.attributes.integers(kMark);
  mark[0] = 1;
  attributes.set(kMark, std::move(mark));
  attributes.set(kRound, kBehindAllRounds);
  return builder.node(Op::AllReduce, {made}, std::move(attributes), {}, sum.member);
}

bool is_replaced(const Node& node) {
  return is_to_share(node) && node.attributes.integers(kMark)[0] != 0;
}

bool has_sums_to_share(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), is_to_share);
}

Step apply_sharding(const Step& step) {
  const auto& nodes = step.graph.nodes();
  const auto marked = std::find_if(nodes.begin(), nodes.end(), is_to_share);
  const std::vector<std::int64_t>& mark = marked->attributes.integers(kMark);
  return Shares(
             step,
             {.gradients = mark[1] != 0, .parameters = mark[2] != 0, .after_forward = mark[3] != 0})
      .run();
}

}  // namespace regatta::strategies
