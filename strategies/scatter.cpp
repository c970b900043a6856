// SPDX-License-Identifier: Apache-2.0
#include "strategies/scatter.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/copier.h"
#include "kernels/graph/listed_types.h"
#include "strategies/stages.h"

namespace regatta::strategies {
namespace {

class Scatter {
 public:
  explicit Scatter(const Step& source)
      : source_(source.graph),
        result_(source),
        copier_(source.graph),
        next_group_(first_free_group(source.graph)) {
    result_.graph = Graph();
    copier_.copy_variables(result_.graph);
    for (const Node& node : source_.nodes()) shards_ = std::max(shards_, node.place.shard);
    shards_ = (shards_ + 1) * static_cast<int>(result_.alike.shards);
    find_different();
    for (NodeId id = 0; shards_ > 1 && id < size(); ++id) {
      for (Value input : source_.node(id).inputs) {
        if (is_scattered(input, id)) scattered_.insert(input);
      }
    }
  }

  Step run() {
    if (scattered_.empty()) {
      throw RunError(ErrorKind::Usage,
                     "--scatter-messages yes is for activations of tokens that all shards of a "
                     "stage send to the next, and there are none; fix: leave it out");
    }
    for (NodeId id = 0; id < size(); ++id) {
      std::map<Value, Value> own;  // at the maker's stage
      for (Value input : source_.node(id).inputs) {
        if (!scattered_.contains(input) || !is_scattered(input, id)) continue;
        own.try_emplace(input, copier_.value(input));
        copier_.map(input, gathered(input, id));
      }
      copier_.copy(id, result_.graph);
      for (const auto& [input, value] : own) copier_.map(input, value);
      for (int k = 0; k < std::ssize(source_.node(id).outputs); ++k) {
        if (scattered_.contains({id, k})) add_part({id, k});
      }
    }
    copier_.rename(result_);
    return std::move(result_);
  }

 private:
  NodeId size() const { return static_cast<NodeId>(source_.nodes().size()); }

  /// Marks the nodes whose values may differ between the shards of a replica: those that read a
  /// part of a variable, a part of a value, or a value that differs, until shards sum or gather it.
  void find_different() {
    for (NodeId id = 0; id < size(); ++id) {
      const Node& node = source_.node(id);
      const bool joins = (node.op == Op::AllReduce || node.op == Op::AllGather) &&
                         node.attributes.integer("members") == shards_;
      const bool reads_part =
          std::any_of(node.variables.begin(), node.variables.end(),
                      [&](VariableId v) { return source_.variable(v).part_of.has_value(); });
      const bool differs = node.op == Op::Slice || node.op == Op::ReduceScatter || reads_part ||
                           std::any_of(node.inputs.begin(), node.inputs.end(), [&](Value input) {
                             return different_[static_cast<std::size_t>(input.node)];
                           });
      different_.push_back(differs && !joins);
    }
  }

  bool is_scattered(Value value, NodeId reader) const {
    const Node& maker = source_.node(value.node);
    const Place& from = maker.place;
    const Place& to = source_.node(reader).place;
    return source_.type(value).rank() == 3 && maker.phase != Phase::Input &&
           from.stage != to.stage && from.shard == to.shard && from.replica == to.replica &&
           !different_[static_cast<std::size_t>(value.node)];
  }

  Builder builder(const Place& place, Value value) {
    Builder builder(result_.graph);
    builder.at(place)
        .in(pass_of(source_, source_.node(value.node)))
        .layer(source_.node(value.node).layer);
    return builder;
  }

  /// Appends the part of an activation that its shard sends: its share of a ring's all_gather.
  void add_part(Value value) {
    const Place& place = source_.node(value.node).place;
    const TensorType& type = source_.type(value);
    const std::vector<Piece> own = pieces(std::span(&type, 1), shards_, place.shard);
    Value& part = parts_[value];
    if (own.empty()) return;
    const Range range = own.front().elements;
    Builder here = builder(place, value);
    part = here.slice(here.flatten(copier_.value(value)), range.begin, range.size());
  }

  /// The activation at a stage that reads it.
  Value gathered(Value value, NodeId reader) {
    const Place& place = source_.node(reader).place;
    Value& all = gathered_[{value, place}];
    if (all.exists()) return all;
    // The n-th of each shard of a stage are one collective.
    std::int64_t& count = counts_[place];
    const auto [group, is_new] =
        groups_.try_emplace({place.replica, place.stage, count++}, next_group_);
    if (is_new) ++next_group_;
    Attributes attributes{{"group", group->second},
                          {"members", static_cast<std::int64_t>(shards_)},
                          {"algorithm", std::string(kRing)},
                          {"frees", std::int64_t{1}}};
    set_alike_members(attributes, {.shards = result_.alike.shards});
    list_types(attributes, std::span(&source_.type(value), 1));
    std::vector<Value> inputs;
    if (parts_.at(value).exists()) inputs.push_back(parts_.at(value));
    all = builder(place, value).node(Op::AllGather, inputs, std::move(attributes), {}, place.shard);
    return all;
  }

  const Graph& source_;
  Step result_;
  Copier copier_;
  std::int64_t next_group_;
  int shards_ = 0;
  std::vector<bool> different_;  ///< by node
  std::set<Value> scattered_;
  std::map<Value, Value> parts_;
  std::map<std::pair<Value, Place>, Value> gathered_;  ///< by value and the readers' place
  std::map<Place, std::int64_t> counts_;               ///< of gathered activations
  std::map<std::tuple<int, int, std::int64_t>, std::int64_t> groups_;
};

}  // namespace

Step scatter_messages(const Step& step) { return Scatter(step).run(); }

}  // namespace regatta::strategies
