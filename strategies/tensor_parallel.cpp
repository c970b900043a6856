// SPDX-License-Identifier: Apache-2.0
//
// tensor_parallel: t shards compute on the same batch, each with a share of the channels of every
// layer that can be divided (channels.h); every shard computes the other layers in full. A shard's
// channels yield a term of a layer's outputs: an all_reduce sums the terms, in forward those of
// every second layer, in backward those of the first layer's input gradient. A ring sends 2 (t - 1)
// times the bytes of each sum. The first shard reads the batch and sends it to the others.
// Gradients need no exchange: a shard has all of those that it applies. Term: tensor parallelism.
// Source: Shoeybi et al., arXiv:1909.08053.
#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/copier.h"
#include "kernels/rewrite/winograd.h"
#include "strategies/channels.h"
#include "strategies/shared_options.h"
#include "strategies/shares.h"
#include "strategies/strategy.h"

namespace regatta::strategies {
namespace {

/// Rewrites one step.
class TensorParallel {
 public:
  TensorParallel(const Step& source, std::int64_t shards, std::string algorithm,
                 const std::string& what)
      : source_(source),
        shards_(shards),
        algorithm_(std::move(algorithm)),
        division_(divide_channels(source.graph, shards, what)),
        next_group_(first_free_group(source.graph) * shards),
        result_(source),
        copied_(static_cast<std::size_t>(shards)) {
    result_.graph = Graph();
    for (std::int64_t s = 0; s < shards; ++s) copiers_.emplace_back(source.graph);
  }

  Step run() {
    for (VariableId v = 0; v < std::ssize(source_.graph.variables()); ++v) add_variable(v);
    for (NodeId id : order()) add_nodes(id);
    result_.trainables.clear();
    for (std::int64_t s = 0; s < shards_; ++s) {
      for (const Trainable& trainable : source_.trainables) add_trainable(trainable, s);
    }
    for (Value& loss : result_.losses) loss = copier(0).value(loss);
    return std::move(result_);
  }

 private:
  static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }
  Copier& copier(std::int64_t shard) { return copiers_[at(shard)]; }

  void add_variable(VariableId v) {
    for (std::int64_t s = 0; s < shards_; ++s) {
      copier(s).map_variable(
          v, result_.graph.add(portion_of(
                 source_.graph.variable(v), division_.of_variable[at(v)],
                 {.unit = division_.unit_of_variable[at(v)], .number = s, .of = shards_})));
    }
  }

  /// Puts a layer's input gradient before its weights' gradient, which hides the exchange of its
  /// sum.
  std::vector<NodeId> order() const {
    const Graph& graph = source_.graph;
    std::vector<NodeId> all(graph.nodes().size());
    std::iota(all.begin(), all.end(), 0);
    for (NodeId id = 1; id < std::ssize(all); ++id) {
      const Node& before = graph.node(id - 1);
      const Node& node = graph.node(id);
      const bool sums = division_.of_node[at(id)] == Portion::Term;
      if (sums && node.phase == Phase::Backward && before.phase == Phase::Backward &&
          before.inputs[0] == node.inputs[0]) {
        std::swap(all[at(id - 1)], all[at(id)]);
      }
    }
    return all;
  }

  void add_nodes(NodeId id) {
    if (source_.graph.node(id).phase == Phase::Input) {
      const NodeId once = add_node(id, 0);
      for (Copier& each : copiers_) each.map_outputs(id, once);
      return;
    }
    for (std::int64_t s = 0; s < shards_; ++s) copier(s).map_outputs(id, add_node(id, s));
    if (division_.of_node[at(id)] == Portion::Term) sum({id, 0});
  }

  NodeId add_node(NodeId id, std::int64_t shard) {
    Node node = copier(shard).translate(id);
    node.place.shard = static_cast<int>(shard);
    set_channels(node.attributes, division_.of_node[at(id)], {.number = shard, .of = shards_});
    if (is_collective(node.op)) {  // joins the shards of one number in all replicas
      node.attributes.set("group", node.attributes.integer("group") * shards_ + shard);
    }
    return copied_[at(shard)][id] = result_.graph.add(std::move(node));
  }

  /// Each sum is a separate round, because later sums depend on it.
  void sum(Value terms) {
    ++round_;
    for (std::int64_t s = 0; s < shards_; ++s) {
      const Value term = copier(s).value(terms);
      const Node& node = result_.graph.node(term.node);
      Builder builder(result_.graph);
      builder.at(node.place).layer(node.layer);
      copier(s).map(terms, builder.all_reduce(term, {.group = next_group_,
                                                     .member = s,
                                                     .members = shards_,
                                                     .algorithm = algorithm_,
                                                     .round = round_}));
    }
    ++next_group_;
  }

  void add_trainable(const Trainable& whole, std::int64_t shard) {
    Trainable part{.variable = copier(shard).variable(whole.variable),
                   .gradient = copier(shard).value(whole.gradient),
                   .updates = {}};
    for (NodeId update : whole.updates) part.updates.push_back(copied_[at(shard)].at(update));
    result_.trainables.push_back(std::move(part));
  }

  const Step& source_;
  std::int64_t shards_;
  std::string algorithm_;
  ChannelDivision division_;
  std::int64_t next_group_;  ///< for the sums of terms
  std::int64_t round_ = 0;
  Step result_;
  std::vector<Copier> copiers_;                   ///< by shard
  std::vector<std::map<NodeId, NodeId>> copied_;  ///< by shard
};

Step tensor_parallel(const Step& step, const StrategyOptions& options) {
  check(!has_winograd(step.graph), "convolutions are marked behind all strategies");
  const std::string what =
      "strategy 'tensor_parallel' with " + std::to_string(options.shards) + " shards";
  const auto& nodes = step.graph.nodes();
  if (options.shards < 2) {
    throw RunError(ErrorKind::Usage,
                   "strategy 'tensor_parallel' divides channels among 2 or more shards, and there "
                   "is 1; fix: give --workers 2, or --shards 2 in a composition");
  }
  if (std::any_of(nodes.begin(), nodes.end(),
                  [](const Node& node) { return node.place.shard != 0; })) {
    throw RunError(ErrorKind::Usage, what +
                                         ": the step has shards already; fix: leave one of the "
                                         "strategies that make shards out");
  }
  if (std::any_of(nodes.begin(), nodes.end(), is_to_share)) {
    throw RunError(ErrorKind::Usage,
                   what +
                       ": the step's parameters are divided among workers already; fix: use "
                       "all_reduce instead of sharded");
  }
  return TensorParallel(step, options.shards, options.choice(kAlgorithm), what).run();
}

}  // namespace

extern constinit const Strategy kTensorParallel = {
    .name = "tensor_parallel",
    .term = "tensor parallelism",
    .summary = "the channels of layers divided among shards, which sum activations",
    .colour = "#117733",
    .workers = WorkersAre::Shards,
    .exchange = Exchange::Synchronous,
    .processes = Processes::OfPlaces,
    .options = options<kAlgorithm, kShardCount, kStagesPerProcess>,
    .rewrite = tensor_parallel,
    .elsewhere = {{{"megatron"}}}};

}  // namespace regatta::strategies
