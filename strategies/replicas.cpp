// SPDX-License-Identifier: Apache-2.0
#include "strategies/replicas.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/graph/collective.h"
#include "strategies/strategy.h"

namespace regatta::strategies {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

bool is_dealt_out(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
    const bool slices = node.op == Op::Slice && node.phase == Phase::Input;
    return node.place.replica != 0 || node.place.role != Role::Worker || slices ||
           is_collective(node.op);
  });
}

/// Whether the strategy places the update. Updates of running statistics stay with their replica.
bool assigns_trainable(const Step& step, NodeId id) {
  return std::any_of(step.trainables.begin(), step.trainables.end(), [&](const Trainable& t) {
    return std::find(t.updates.begin(), t.updates.end(), id) != t.updates.end();
  });
}

bool is_trained(const Step& step, VariableId id) {
  return std::any_of(step.trainables.begin(), step.trainables.end(),
                     [&](const Trainable& each) { return each.variable == id; });
}

}  // namespace

void require_whole_batch(const Graph& graph, std::string_view strategy) {
  if (!is_dealt_out(graph)) return;
  throw RunError(ErrorKind::Usage, "strategy '" + std::string(strategy) +
                                       "' cannot be applied to a step that is already dealt to "
                                       "replicas, microbatches or shards; fix: put it first or "
                                       "leave one of them out");
}

Replicas::Replicas(const Step& source, const ReplicaOptions& options)
    : source_(source), options_(options), central_(source.graph) {
  require_whole_batch(source.graph, options.strategy);
  result_.global_batch = source.global_batch;
  result_.normalization_group = source.normalization_group;
  result_.gradient_clip = source.gradient_clip;
  result_.alike = source.alike;
  result_.alike.replicas = options.alike;
  deal_out();
  for (std::int64_t r = 0; r < count(); ++r) copiers_.emplace_back(source.graph);
  add_variables();
  for (std::int64_t r = 0; r < count(); ++r) copy_compute(r);
}

void Replicas::deal_out() {
  const std::int64_t group = source_.normalization_group;
  const std::int64_t groups = source_.global_batch / group;
  const std::int64_t sharers = options_.count - options_.backups;
  check(groups * group == source_.global_batch, "a global batch is a whole number of groups");
  if (sharers < 1 || sharers > groups) {
    throw RunError(ErrorKind::Usage, "strategy '" + std::string(options_.strategy) + "' with " +
                                         std::to_string(sharers) + " workers: a global batch of " +
                                         std::to_string(source_.global_batch) +
                                         " examples in normalisation groups of " +
                                         std::to_string(group) + " can be dealt to 1 to " +
                                         std::to_string(groups) + " workers");
  }
  std::int64_t offset = 0;
  for (std::int64_t dealt : dealt_groups(groups, sharers, options_.backups)) {
    offset_.push_back(offset);
    batch_.push_back(dealt * group);
    offset += batch_.back();
  }
}

Place Replicas::place_in(Place place, std::int64_t replica) const {
  place.replica = static_cast<int>(replica);
  return place;
}

/// Whether the node reads a variable or casts one. Remote readers need the cast value: the cast
/// runs where the variable is stored, and the smaller value travels.
bool Replicas::reads(NodeId id) const {
  const Graph& graph = source_.graph;
  const Node& node = graph.node(id);
  return node.op == Op::Read ||
         (node.op == Op::Cast && graph.node(node.inputs[0].node).op == Op::Read);
}

/// Home keeps the stage, so that a rewrite for model parallelism may come first.
Place Replicas::home_of(Place place) const {
  place.replica = options_.home.replica;
  place.role = options_.home.role;
  return place;
}

void Replicas::add_variables() {
  const Graph& graph = source_.graph;
  result_.graph.reserve_nodes((graph.nodes().size() + source_.trainables.size()) * copiers_.size());
  result_.graph.reserve_variables(graph.variables().size() * copiers_.size());
  for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
    Variable variable = graph.variable(v);
    const bool own =
        options_.ownership == Ownership::EachReplica || variable.kind == VariableKind::Statistic;
    if (!own) {
      variable.place = home_of(variable.place);
      variable.sharing = options_.sharing;
      const VariableId id = result_.graph.add(variable);
      central_.map_variable(v, id);
      for (Copier& copier : copiers_) copier.map_variable(v, id);
      continue;
    }
    if (is_trained(source_, v)) {
      variable.sharing = options_.sharing;
      variable.judged = options_.judged;
    }
    for (std::int64_t r = 0; r < count(); ++r) {
      variable.place = place_in(graph.variable(v).place, r);
      copiers_[at(r)].map_variable(v, result_.graph.add(variable));
    }
  }
}

/// The place where a replica reads and assigns shared variables: home, or on a server a lane of the
/// replica's own.
Place Replicas::shared_place(Place place, std::int64_t replica) const {
  return place_in(home_of(place), replica);
}

/// The replica's slice of a centrally fed input.
Value Replicas::feed(NodeId input, int output, std::int64_t replica) {
  if (!central_.knows({input, 0})) {
    Node node = central_.translate(input);
    node.place = home_of(node.place);
    central_.map_outputs(input, result_.graph.add(node));
  }
  Builder builder(result_.graph);
  builder.at(home_of(source_.graph.node(input).place)).in(Phase::Input).layer("input");
  return builder.slice(central_.value({input, output}), offset_[at(replica)], batch_[at(replica)]);
}

void Replicas::copy_compute(std::int64_t replica) {
  Copier& copier = copiers_[at(replica)];
  for (NodeId id = 0; id < static_cast<NodeId>(source_.graph.nodes().size()); ++id) {
    const Node& node = source_.graph.node(id);
    if (assigns_trainable(source_, id)) continue;
    if (node.op == Op::Input && options_.feed == Feed::Central) {
      for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i) {
        copier.map({id, i}, feed(id, i, replica));
      }
      continue;
    }
    if (reads(id) && options_.ownership == Ownership::Home) {
      if (!central_.knows({id, 0})) {
        Node read = central_.translate(id);
        read.place = home_of(read.place);
        central_.map_outputs(id, result_.graph.add(read));
      }
      copier.map({id, 0}, central_.value({id, 0}));
      continue;
    }
    Node copied = copier.translate(id);
    const bool shares = reads(id) && options_.ownership == Ownership::Shared;
    copied.place = shares ? shared_place(node.place, replica) : place_in(node.place, replica);
    if (node.op == Op::Input) {
      const std::int64_t offset = copied.attributes.integer("offset");
      copied.attributes.set("offset", offset + offset_[at(replica)]);
      copied.attributes.set("batch", batch_[at(replica)]);
      copied.attributes.set("global_batch", offset_.back() + batch_.back());
    }
    copier.map_outputs(id, result_.graph.add(copied));
  }
  for (Value loss : source_.losses) result_.losses.push_back(copier.value(loss));
}

Value Replicas::gradient(std::size_t t, std::int64_t replica) const {
  return copiers_[at(replica)].value(source_.trainables[t].gradient);
}

std::vector<Value> Replicas::gradients(std::size_t t) const {
  std::vector<Value> all;
  for (std::int64_t r = 0; r < count(); ++r) all.push_back(gradient(t, r));
  return all;
}

VariableId Replicas::parameter(std::size_t t, std::int64_t replica) const {
  return copiers_[at(replica)].variable(source_.trainables[t].variable);
}

Builder Replicas::at_update(std::size_t t, std::int64_t replica) {
  const Node& update = source_.graph.node(source_.trainables[t].updates.front());
  Builder builder(result_.graph);
  builder.at(place_in(update.place, replica)).in(Phase::Update).layer(update.layer);
  return builder;
}

Builder Replicas::at_home(std::size_t t) {
  const Node& update = source_.graph.node(source_.trainables[t].updates.front());
  Builder builder(result_.graph);
  builder.at(home_of(update.place)).in(Phase::Update).layer(update.layer);
  return builder;
}

Builder Replicas::at_shared(std::size_t t, std::int64_t replica) {
  const Node& update = source_.graph.node(source_.trainables[t].updates.front());
  Builder builder(result_.graph);
  builder.at(shared_place(update.place, replica)).in(Phase::Update).layer(update.layer);
  return builder;
}

void Replicas::append_update(std::size_t t, Copier& copier, Place place, double weight,
                             Value gradient) {
  const Trainable& trainable = source_.trainables[t];
  Trainable added{
      .variable = copier.variable(trainable.variable), .gradient = gradient, .updates = {}};
  copier.map(trainable.gradient, gradient);
  for (NodeId update : trainable.updates) {
    Node node = copier.translate(update);
    node.place = place;
    if (node.attributes.has("weight")) node.attributes.set("weight", weight);
    added.updates.push_back(result_.graph.add(node));
  }
  result_.trainables.push_back(added);
}

void Replicas::update(std::size_t t, std::int64_t replica, Value gradient) {
  const bool pushes = options_.ownership == Ownership::Shared;
  const bool alone = pushes && options_.sharing != Sharing::Quorum;
  const double weight =
      alone ? static_cast<double>(batch_[at(replica)]) / static_cast<double>(source_.global_batch)
            : 1.0;
  const Place& source = source_.graph.node(source_.trainables[t].updates.front()).place;
  const Place place = pushes ? shared_place(source, replica) : place_in(source, replica);
  append_update(t, copiers_[at(replica)], place, weight, gradient);
}

void Replicas::update_at_home(std::size_t t, Value gradient) {
  append_update(t, central_,
                home_of(source_.graph.node(source_.trainables[t].updates.front()).place), 1.0,
                gradient);
}

Step Replicas::finish() { return std::move(result_); }

}  // namespace regatta::strategies
