// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/averages.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "kernels/graph/builder.h"
#include "kernels/graph/copier.h"
#include "kernels/graph/error.h"
#include "kernels/graph/period.h"

namespace regatta {
namespace {

class Lowering {
 public:
  Lowering(const Step& step, const Binding& binding)
      : source_(step), binding_(binding), result_(step), copier_(step.graph) {
    result_.graph = Graph();
    copier_.copy_variables(result_.graph);
  }

  bool is_needed() const {
    const auto& nodes = source_.graph.nodes();
    return std::any_of(nodes.begin(), nodes.end(), [this](const Node& node) {
      if (node.op != Op::Average) return false;
      return std::any_of(node.variables.begin(), node.variables.end(),
                         [&](VariableId v) { return is_elsewhere(v, node.place); });
    });
  }

  Step run() {
    for (NodeId id = 0; id < static_cast<NodeId>(source_.graph.nodes().size()); ++id) {
      const Node& node = source_.graph.node(id);
      if (node.op == Op::Average) {
        average(node);
        continue;
      }
      copier_.copy(id, result_.graph);
      if (node.op == Op::Read)
        reads_[{node.variables.front(), node.place}] = copier_.value({id, 0});
      for (const Value loss : source_.losses) {
        if (loss.node == id) tell_first(node, copier_.value(loss));
      }
    }
    copier_.rename(result_);
    return std::move(result_);
  }

 private:
  const Place& place_of(VariableId v) const { return source_.graph.variable(v).place; }

  bool is_elsewhere(VariableId v, const Place& place) const {
    return binding_.process_of(place_of(v)) != binding_.process_of(place);
  }

  static Period period_of_peer(const Node& average, std::size_t peer) {
    return {.draw = PeerDraw{.replica = average.attributes.integer("replica"),
                             .peers = std::ssize(average.variables) - 1,
                             .peer = static_cast<std::int64_t>(peer)}};
  }

  Builder builder_at(const Place& place, const Node& node) {
    Builder builder(result_.graph);
    builder.at(place).in(Phase::Communication).layer(node.layer);
    return builder;
  }

  /// The loop of a replica at a peer.
  Place place_at(const Place& replica, const Place& peer) const {
    for (const Place& each : {replica, peer}) {
      if (binding_.process_of(each) == binding_.process_of({.replica = each.replica})) continue;
      throw RunError(ErrorKind::Usage,
                     "replicas that average with those of other processes have all of their stages "
                     "in one; fix: give fewer --processes, or leave --stages-per-process out");
    }
    return {.replica = replica.replica, .stage = peer.replica, .role = Role::Peer};
  }

  void average(const Node& node) {
    const VariableId own = copier_.variable(node.variables.front());
    const auto read = reads_.find({node.variables.front(), node.place});
    check(read != reads_.end(), "a replica reads what it averages");
    for (std::size_t v = 1; v < node.variables.size(); ++v) {
      const VariableId theirs = copier_.variable(node.variables[v]);
      Builder builder = builder_at(node.place, node);
      builder.only(period_of_peer(node, v - 1));
      if (!is_elsewhere(node.variables[v], node.place)) {
        builder.average(own, {theirs}, node.attributes.integer("replica"));
        continue;
      }
      builder.at(place_at(node.place, place_of(node.variables[v])));
      const Value mean = builder.average_with(read->second, theirs);
      builder.at(node.place).in(Phase::Update).assign(mean, own);
    }
  }

  void tell_first(const Node& node, Value loss) {
    const Place first{};
    if (binding_.process_of(node.place) == binding_.process_of(first)) return;
    builder_at(place_at(node.place, first), node).scale(loss, 1.0);
  }

  const Step& source_;
  const Binding& binding_;
  Step result_;
  Copier copier_;
  std::map<std::pair<VariableId, Place>, Value> reads_;
};

}  // namespace

Step averages_between(const Step& step, const Binding& binding) {
  Lowering lowering(step, binding);
  return lowering.is_needed() ? lowering.run() : step;
}

Binding with_peers(const Binding& binding) {
  Binding all = binding;
  all.process_of = [of_others = binding.process_of](const Place& place) {
    return of_others(place.role == Role::Peer ? Place{.replica = place.stage} : place);
  };
  return all;
}

}  // namespace regatta
