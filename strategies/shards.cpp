// SPDX-License-Identifier: Apache-2.0
#include "strategies/shards.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/graph/collective.h"

namespace regatta::strategies {
namespace {

/// `name[:,3:5]`: rows along dimension 1.
std::string name_of_rows(const std::string& name, std::size_t along, const Range& rows) {
  std::string text = name + '[';
  for (std::size_t d = 0; d < along; ++d) text += ":,";
  return text + std::to_string(rows.begin) + ':' + std::to_string(rows.end) + ']';
}

std::int64_t share_of(std::int64_t channels, const Shard& shard) {
  return regatta::share(channels, shard.of, shard.number).size();
}

/// The values that forward and backward nodes read.
std::set<Value> read_in_passes(const Graph& graph) {
  std::set<Value> read;
  for (const Node& node : graph.nodes()) {
    if (node.phase != Phase::Forward && node.phase != Phase::Backward) continue;
    read.insert(node.inputs.begin(), node.inputs.end());
  }
  return read;
}

}  // namespace

ShardDivision::ShardDivision(const Graph& graph)
    : of_variable(graph.variables().size(), Portion::Whole),
      unit_of_variable(graph.variables().size(), 1) {
  for (const Node& node : graph.nodes()) of_node.emplace_back(node.outputs.size(), Portion::Whole);
}

Portion& ShardDivision::of(Value value) {
  return of_node.at(static_cast<std::size_t>(value.node))
      .at(static_cast<std::size_t>(value.output));
}
Portion ShardDivision::of(Value value) const { return const_cast<ShardDivision*>(this)->of(value); }

Variable portion_of(const Variable& whole, Portion portion, const Shard& shard) {
  Variable part = whole;
  part.place.shard = static_cast<int>(shard.number);
  if (portion == Portion::Whole) return part;
  const std::size_t rank = whole.type.rank();
  const std::size_t along = portion == Portion::Channels ? rank - 1 : rank == 3 ? 1 : 0;
  const Range units = regatta::share(whole.type.dim(along) / shard.unit, shard.of, shard.number);
  const Range rows{.begin = units.begin * shard.unit, .end = units.end * shard.unit};
  part.name = name_of_rows(whole.name, along, rows);
  part.part_of = PartOf{.name = whole.name, .type = whole.type, .row = rows.begin, .along = along};
  part.type.dims[along] = rows.size();
  return part;
}

void set_channels(Attributes& attributes, Portion portion, const Shard& shard) {
  if (portion != Portion::Channels && portion != Portion::Rows) return;
  if (attributes.has("dims")) {
    std::vector<std::int64_t> dims = attributes.integers("dims");
    std::int64_t& channels = portion == Portion::Rows ? dims.front() : dims.back();
    channels = share_of(channels, shard);
    attributes.set("dims", std::move(dims));
  }
  for (const char* count : {"groups", "heads"}) {
    if (attributes.has(count)) attributes.set(count, share_of(attributes.integer(count), shard));
  }
}

void require_divisible(const Step& step, std::int64_t shards, const std::string& what) {
  const auto& nodes = step.graph.nodes();
  if (shards < 2) {
    throw RunError(ErrorKind::Usage,
                   what +
                       ": there have to be 2 or more; fix: give --workers 2, or --shards 2 in "
                       "a composition");
  }
  if (std::any_of(nodes.begin(), nodes.end(),
                  [](const Node& node) { return node.place.shard != 0; })) {
    throw RunError(ErrorKind::Usage, what +
                                         ": the step has shards already; fix: leave one of the "
                                         "strategies that make shards out");
  }
}

ShardedStep::ShardedStep(const Step& source, std::int64_t shards, ShardDivision division,
                         std::string algorithm, std::int64_t alike)
    : source_(source),
      algorithm_(std::move(algorithm)),
      division_(std::move(division)),
      next_group_(first_free_group(source.graph) * shards),
      result_(source),
      join_([this](Value of, const std::vector<Value>& terms) { map(of, all_reduce(of, terms)); }),
      read_in_passes_(read_in_passes(source.graph)),
      copied_(at(shards / alike)) {
  result_.graph = Graph();
  result_.alike.shards = alike;
  for (std::int64_t s = 0; s < shards / alike; ++s) copiers_.emplace_back(source.graph);
}

Step ShardedStep::run(const Replace& replace) {
  for (VariableId v = 0; v < std::ssize(source().variables()); ++v) add_variable(v);
  for (NodeId id : order()) {
    if (!replace(id)) add_nodes(id);
  }
  result_.trainables.clear();
  for (std::int64_t s = 0; s < built(); ++s) {
    for (const Trainable& trainable : source_.trainables) add_trainable(trainable, s);
  }
  result_.losses.clear();
  for (Value loss : source_.losses) {
    const bool of_each = division_.of(loss) == Portion::Tokens;
    for (std::int64_t s = 0; s < (of_each ? built() : 1); ++s) {
      result_.losses.push_back(copier(s).value(loss));
    }
  }
  return std::move(result_);
}

void ShardedStep::add_variable(VariableId v) {
  for (std::int64_t s = 0; s < built(); ++s) {
    copier(s).map_variable(
        v, graph().add(portion_of(
               source().variable(v), division_.of_variable[at(v)],
               {.unit = division_.unit_of_variable[at(v)], .number = s, .of = shards()})));
  }
}

/// Puts a layer's input gradient before its weights' gradient, which hides the exchange of its
/// sum.
std::vector<NodeId> ShardedStep::order() const {
  std::vector<NodeId> all(source().nodes().size());
  std::iota(all.begin(), all.end(), 0);
  for (NodeId id = 1; id < std::ssize(all); ++id) {
    const Node& before = source().node(id - 1);
    const Node& node = source().node(id);
    if (node.phase == Phase::Backward && before.phase == Phase::Backward &&
        division_.of({id, 0}) == Portion::Term && before.inputs[0] == node.inputs[0]) {
      std::swap(all[at(id - 1)], all[at(id)]);
    }
  }
  return all;
}

/// Lets the shards of all replicas sum their terms at once: what is reduced is reduced in place.
void ShardedStep::add_sum_of_replicas(NodeId id) {
  const Node& node = source().node(id);
  Attributes attributes = node.attributes;
  attributes.set("group", attributes.integer("group") * shards());
  attributes.set("members", attributes.integer("members") * shards());
  set_alike_members(attributes, {.shards = result_.alike.shards});
  if (attributes.text("algorithm").starts_with(std::string(kTorus) + '_')) {
    throw RunError(ErrorKind::Usage,
                   "shards sum gradients together with their replicas, and --torus is of replicas; "
                   "fix: leave --torus out");
  }
  for (std::int64_t s = 0; s < built(); ++s) {
    copier(s).map({id, 0}, builder(id, s).node(Op::AllReduce, {copier(s).value(node.inputs[0])},
                                               attributes, {}, node.member * shards() + s));
  }
}

void ShardedStep::add_nodes(NodeId id) {
  const Node& source_node = source().node(id);
  if (source_node.op == Op::AllReduce && division_.of({id, 0}) == Portion::Term) {
    return add_sum_of_replicas(id);
  }
  if (source().node(id).phase == Phase::Input) {
    const NodeId once = copy(id, 0);
    for (Copier& each : copiers_) each.map_outputs(id, once);
    return;
  }
  for (std::int64_t s = 0; s < built(); ++s) copier(s).map_outputs(id, copy(id, s));
  for (int output = 0; output < std::ssize(source().node(id).outputs); ++output) {
    const Value value{id, output};
    if (division_.of(value) != Portion::Term) continue;
    std::vector<Value> terms;
    for (const Copier& each : copiers_) terms.push_back(each.value(value));
    join(value, terms);
  }
}

NodeId ShardedStep::copy(NodeId id, std::int64_t shard) {
  Node node = copier(shard).translate(id);
  node.place.shard = static_cast<int>(shard);
  if (!node.outputs.empty()) {
    set_channels(node.attributes, division_.of({id, 0}), {.number = shard, .of = shards()});
  }
  if (is_collective(node.op)) {  // joins the shards of one number in all replicas
    node.attributes.set("group", node.attributes.integer("group") * shards() + shard);
  }
  return copied_[at(shard)][id] = graph().add(std::move(node));
}

void ShardedStep::map(Value from, const std::vector<Value>& to) {
  for (std::int64_t s = 0; s < built(); ++s) copier(s).map(from, to.at(at(s)));
}

Builder ShardedStep::builder(NodeId like, std::int64_t shard) {
  const Node& node = source().node(like);
  Place place = node.place;
  place.shard = static_cast<int>(shard);
  Builder builder(graph());
  builder.at(place).layer(node.layer).in(node.phase);
  return builder;
}

std::vector<Value> ShardedStep::collective(Op op, Value of, const std::vector<Value>& values,
                                           Attributes attributes) {
  attributes.set("group", next_group_++);
  attributes.set("members", shards());
  set_alike_members(attributes, {.shards = result_.alike.shards});
  attributes.set("algorithm", op == Op::AllReduce ? algorithm_ : std::string(kRing));
  const bool once = source().node(of.node).phase == Phase::Backward &&
                    !read_in_passes_.contains(of);  // after all microbatches
  if (!once) attributes.set("round", ++round_);
  std::vector<Value> made;
  for (std::int64_t s = 0; s < built(); ++s) {
    Builder builder = this->builder(of.node, s);
    if (once) builder.in(Phase::Update);
    made.push_back(builder.node(op, {values[at(s)]}, attributes, {}, s));
  }
  return made;
}

std::vector<Value> ShardedStep::all_reduce(Value of, const std::vector<Value>& terms) {
  return collective(Op::AllReduce, of, terms, {});
}

std::vector<Value> ShardedStep::reduce_scatter(Value of, const std::vector<Value>& terms) {
  return collective(Op::ReduceScatter, of, terms, {{"evenly", std::int64_t{1}}});
}

std::vector<Value> ShardedStep::all_gather(Value of, const std::vector<Value>& shares,
                                           Attributes attributes) {
  attributes.set("evenly", std::int64_t{1});
  return collective(Op::AllGather, of, shares, std::move(attributes));
}

void ShardedStep::add_trainable(const Trainable& whole, std::int64_t shard) {
  Trainable part{.variable = copier(shard).variable(whole.variable),
                 .gradient = copier(shard).value(whole.gradient),
                 .updates = {}};
  for (NodeId update : whole.updates) part.updates.push_back(copied_[at(shard)].at(update));
  result_.trainables.push_back(std::move(part));
}

}  // namespace regatta::strategies
