// SPDX-License-Identifier: Apache-2.0
#include "kernels/distribute/averages_between.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/copier.h"
#include "kernels/graph/period.h"

namespace regatta {
namespace {

bool is_elsewhere(const Place& place, const Place& other, const Binding& binding) {
  return binding.process_of(place) != binding.process_of(other);
}

class Lowering {
 public:
  Lowering(const Step& step, const Binding& binding)
      : source_(step), binding_(binding), result_(step), copier_(step.graph) {
    result_.graph = Graph();
    copier_.copy_variables(result_.graph);
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

  /// The place at `peer` of the loop of `replica`.
  Place place_at(const Place& replica, const Place& peer) const {
    for (const Place& each : {replica, peer}) {
      if (!is_elsewhere(each, {.replica = each.replica}, binding_)) continue;
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
      if (!is_elsewhere(place_of(node.variables[v]), node.place, binding_)) {
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
    if (!is_elsewhere(node.place, first, binding_)) return;
    builder_at(place_at(node.place, first), node).scale(loss, 1.0);
  }

  const Step& source_;
  const Binding& binding_;
  Step result_;
  Copier copier_;
  std::map<std::pair<VariableId, Place>, Value> reads_;
};

}  // namespace

bool averages_leave_a_process(const Graph& graph, const Binding& binding) {
  const auto& nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    if (node.op != Op::Average) return false;
    return std::any_of(node.variables.begin(), node.variables.end(), [&](VariableId v) {
      return is_elsewhere(graph.variable(v).place, node.place, binding);
    });
  });
}

Step averages_between(const Step& step, const Binding& binding) {
  return Lowering(step, binding).run();
}

Binding with_peers(const Binding& binding) {
  Binding all = binding;
  all.process_of = [of_others = binding.process_of](const Place& place) {
    return of_others(place.role == Role::Peer ? Place{.replica = place.stage} : place);
  };
  return all;
}

}  // namespace regatta
