// SPDX-License-Identifier: Apache-2.0
#include "kernels/rewrite/clip.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/copier.h"
#include "kernels/graph/period.h"

namespace regatta {
namespace {

/// The update of one trainable.
struct Applied {
  NodeId update = -1;
  VariableId variable = -1;
};
using Model = std::vector<Applied>;  ///< updates with gradients that are clipped together

/// Marks the updates, and the nodes that have to come behind one of them.
std::vector<bool> behind_updates(const Graph& graph, const std::set<NodeId>& updates) {
  std::vector<bool> late(graph.nodes().size());
  std::vector<std::set<VariableId>> viewed(graph.nodes().size());  // by node: in its output
  std::set<VariableId> touched, assigned;                          // by late nodes
  for (std::size_t id = 0; id < late.size(); ++id) {
    const Node& node = graph.nodes()[id];
    std::set<VariableId> own;
    for (VariableId v : node.variables) {
      if (graph.variable(v).sharing == Sharing::None) own.insert(v);  // others have no fixed order
    }
    for (Value input : node.inputs)
      own.merge(std::set(viewed[static_cast<std::size_t>(input.node)]));
    const auto meets = [&](const std::set<VariableId>& others) {
      return std::any_of(own.begin(), own.end(), [&](VariableId v) { return others.contains(v); });
    };
    const bool assigns = op_info(node.op).assigns;
    late[id] = updates.contains(static_cast<NodeId>(id)) || meets(assigned) ||
               (assigns && meets(touched)) ||
               std::any_of(node.inputs.begin(), node.inputs.end(),
                           [&](Value input) { return late[static_cast<std::size_t>(input.node)]; });
    if (op_info(node.op).view) viewed[id] = own;
    if (!late[id]) continue;
    touched.insert(own.begin(), own.end());
    if (assigns) assigned.insert(own.begin(), own.end());
  }
  return late;
}

class Clip {
 public:
  explicit Clip(const Step& step)
      : source_(step), result_(step), copier_(step.graph), group_(first_free_group(step.graph)) {
    for (const Node& node : step.graph.nodes()) {  // between GPUs NCCL takes rings
      if (is_collective(node.op) && node.attributes.text("algorithm") == kRing) algorithm_ = kRing;
      if (node.op == Op::ReduceScatter && alike_members(node).replicas > 1) {
        alike_.replicas = step.alike.replicas;  // each updates a share
      }
    }
    alike_.shards = step.alike.shards;
    result_.graph = Graph();
    result_.gradient_clip = 0;
    copier_.copy_variables(result_.graph);
  }

  Step run() {
    const std::vector<Model> models = find_models();
    std::set<NodeId> updates;
    for (const Model& model : models) {
      for (const Applied& each : model) updates.insert(each.update);
    }
    const std::vector<bool> late = behind_updates(source_.graph, updates);
    const auto copy_all = [&](bool are_late) {
      for (NodeId id = 0; id < std::ssize(late); ++id) {
        if (late[static_cast<std::size_t>(id)] == are_late) copy(id);
      }
    };
    copy_all(false);
    for (const Model& model : models) add_divisors(model);
    copy_all(true);
    copier_.rename(result_);
    return std::move(result_);
  }

 private:
  const Node& node(NodeId id) const { return source_.graph.node(id); }
  bool takes_pushes(const Applied& applied) const {
    return node(node(applied.update).inputs[0].node).op == Op::Quorum;
  }

  /// Returns a model for each replica if each applies all gradients, otherwise one of all replicas.
  std::vector<Model> find_models() const {
    std::map<int, Model> of_replica;
    for (const Trainable& trainable : source_.trainables) {
      for (NodeId update : trainable.updates) {
        if (!op_info(node(update).op).learns) continue;
        of_replica[node(update).place.replica].push_back({update, trainable.variable});
      }
    }
    Model all;
    for (const auto& [replica, model] : of_replica)
      all.insert(all.end(), model.begin(), model.end());
    std::vector<Model> models;
    for (const auto& [replica, model] : of_replica) {
      if (elements(model) < elements(all)) return {all};
      models.push_back(model);
    }
    return models;
  }

  std::int64_t elements(const Model& model) const {
    std::map<std::string, std::int64_t> parts;
    for (const Applied& each : model) {
      const Variable& variable = source_.graph.variable(each.variable);
      parts[variable.name] = variable.type.elements();
    }
    std::int64_t sum = 0;
    for (const auto& [name, count] : parts) sum += count;
    return sum;
  }

  /// Returns the first shard that has all elements of a variable, by the variable's name: all
  /// shards have them, although workers may divide them otherwise at each.
  std::map<std::string, int> held_whole(const Model& model) const {
    std::map<std::pair<std::string, int>, std::map<std::string, std::int64_t>> parts;
    for (const Applied& each : model) {
      const Variable& variable = source_.graph.variable(each.variable);
      parts[{variable.whole_name(), variable.place.shard}][variable.name] =
          variable.type.elements();
    }
    std::map<std::string, int> held;
    for (const Applied& each : model) {
      const Variable& variable = source_.graph.variable(each.variable);
      std::int64_t missing =
          variable.part_of ? variable.part_of->type.elements() : variable.type.elements();
      for (const auto& [name, count] : parts.at({variable.whole_name(), variable.place.shard})) {
        missing -= count;
      }
      if (missing > 0) continue;
      const auto [entry, is_first] = held.try_emplace(variable.whole_name(), variable.place.shard);
      if (!is_first) entry->second = std::min(entry->second, variable.place.shard);
    }
    return held;
  }

  /// Appends the nodes that compute the divisor of the model's gradients at each of its places.
  void add_divisors(const Model& model) {
    std::map<Place, std::vector<Value>> own;  // by place: gradients that no place before it has
    std::set<std::string> counted;
    const std::map<std::string, int> held = held_whole(model);
    for (const Applied& each : model) {
      const Variable& variable = source_.graph.variable(each.variable);
      std::vector<Value>& gradients = own[node(each.update).place];
      const auto shard = held.find(variable.whole_name());
      if (shard != held.end() && shard->second != variable.place.shard) continue;
      if (counted.insert(variable.name).second) {
        gradients.push_back(copier_.value(node(each.update).inputs[0]));
      }
    }
    if (own.size() > 1 && takes_pushes(model.front())) {
      throw RunError(ErrorKind::Usage,
                     "this workload clips gradients by the norm of all of them, and with backup "
                     "workers servers do not wait for each other; fix: give --servers 1, or leave "
                     "--backup-workers out");
    }
    std::map<Place, Value> squares;
    for (const auto& [place, gradients] : own) {
      if (!gradients.empty()) squares[place] = at(place).squared_norm(gradients);
    }
    // A gradient of a share of the batch is that share of a mean.
    const double limit =
        source_.gradient_clip * node(model.front().update).attributes.real("weight");
    const bool among_workers = std::all_of(squares.begin(), squares.end(), [](const auto& each) {
      return each.first.role == Role::Worker;
    });
    std::map<Place, Value> sums, divisors;
    for (const auto& [place, square] : squares) sums[place] = sum_at(place, squares, among_workers);
    for (const auto& [place, gradients] : own) {
      const bool has_term = sums.contains(place);
      const Value sum = has_term        ? sums.at(place)
                        : among_workers ? sums.begin()->second
                                        : sum_at(place, squares, false);
      divisors[place] = at(place).clip_divisor(sum, limit);
    }
    if (are_summed(squares)) ++group_;
    for (const Applied& each : model)
      divisor_of_[each.update] = divisors.at(node(each.update).place);
  }

  /// Workers exchange their terms by a collective, whose sum a worker without a term receives;
  /// servers send each other theirs.
  Value sum_at(const Place& place, const std::map<Place, Value>& squares, bool among_workers) {
    const auto own = squares.find(place);
    if (!are_summed(squares) && own != squares.end()) return own->second;
    if (among_workers) {
      return at(place).all_reduce(own->second,
                                  {.group = group_,
                                   .member = std::distance(squares.begin(), own) * alike_.shards,
                                   .members = std::ssize(squares) * alike_.places(),
                                   .algorithm = algorithm_,
                                   .alike = alike_});
    }
    std::vector<Value> terms;
    for (const auto& [other, value] : squares) terms.push_back(value);
    return at(place).sum(terms);
  }

  /// Whether more than one place, built or not, has a term.
  bool are_summed(const std::map<Place, Value>& squares) const {
    return std::ssize(squares) * alike_.places() > 1;
  }

  Builder at(const Place& place) {
    Builder builder(result_.graph);
    builder.at(place).in(Phase::Update).layer("clip");
    return builder;
  }

  void copy(NodeId id) {
    const auto divisor = divisor_of_.find(id);
    if (divisor == divisor_of_.end()) {
      copier_.copy(id, result_.graph);
      return;
    }
    const Node& update = node(id);
    const Value gradient = copier_.value(update.inputs[0]);
    Builder builder(result_.graph);
    builder.at(update.place).in(Phase::Update).layer(update.layer).only(period_of(update));
    const Value clipped = builder.quotient(gradient, divisor->second);
    copier_.map(update.inputs[0], clipped);
    copier_.copy(id, result_.graph);
    copier_.map(update.inputs[0], gradient);
  }

  const Step& source_;
  Step result_;
  Copier copier_;
  std::string algorithm_{kReduceToOne};
  std::int64_t group_;                  ///< of the next collective
  Alike alike_;                         ///< the places for whose terms of a norm a term stands
  std::map<NodeId, Value> divisor_of_;  ///< by update
};

}  // namespace

Step clip_gradients(const Step& step) { return Clip(step).run(); }

}  // namespace regatta
