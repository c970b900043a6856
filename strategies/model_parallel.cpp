// SPDX-License-Identifier: Apache-2.0
//
// model_parallel: divides the layers, in order, among p stages so that the most expensive stage is
// as cheap as possible. Backward and update nodes are on the stage of their layer. At each border
// between stages the activations of an example travel forward and a gradient of the same size back.
// Term: model parallelism without pipelining: one stage works at a time.
#include <algorithm>
#include <map>

#include "kernels/graph/error.h"
#include "kernels/graph/traffic.h"
#include "strategies/strategy.h"

namespace regatta {
namespace {

struct Layer {
  std::string name;
  std::int64_t cost = 0;
};

/// The layers in the order of the forward pass of replica 0.
std::vector<Layer> layers_of(const Graph& graph) {
  std::vector<Layer> layers;
  std::map<std::string, std::size_t> index;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (node.place.replica != 0 || node.op == Op::Input || node.op == Op::Slice) continue;
    const auto [entry, is_new] = index.try_emplace(node.layer, layers.size());
    if (is_new) layers.push_back({.name = node.layer, .cost = 0});
    layers[entry->second].cost += cost(graph, id);
  }
  return layers;
}

/// How many stages it takes when none may cost more than `limit`, filling each as far as it goes.
std::vector<int> fill(const std::vector<Layer>& layers, std::int64_t stages, std::int64_t limit) {
  std::vector<int> stage_of;
  std::int64_t used = 0;
  int stage = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto layers_left = static_cast<std::int64_t>(layers.size() - i);
    const bool must_open = layers_left == stages - 1 - stage && used > 0;  // no stage stays empty
    if (used > 0 && (used + layers[i].cost > limit || must_open)) {
      ++stage;
      used = 0;
    }
    used += std::max<std::int64_t>(layers[i].cost, 1);
    stage_of.push_back(stage);
  }
  return stage_of;
}

/// The smallest limit that fits into `stages`, by bisection.
std::vector<int> deal(const std::vector<Layer>& layers, std::int64_t stages) {
  std::int64_t low = 0;
  std::int64_t high = 1;
  for (const Layer& layer : layers) high += layer.cost + 1;
  while (low + 1 < high) {
    const std::int64_t middle = low + (high - low) / 2;
    const std::vector<int> stage_of = fill(layers, stages, middle);
    (stage_of.back() < stages ? high : low) = middle;
  }
  return fill(layers, stages, high);
}

Step model_parallel(const Step& step, const StrategyOptions& options) {
  const std::vector<Layer> layers = layers_of(step.graph);
  if (options.stages < 1 || options.stages > static_cast<std::int64_t>(layers.size())) {
    throw RunError(ErrorKind::Usage, "strategy 'model_parallel' with " +
                                         std::to_string(options.stages) +
                                         " stages: this model has " +
                                         std::to_string(layers.size()) + " layers, so 1 to " +
                                         std::to_string(layers.size()) + " stages are possible");
  }
  const std::vector<int> stage_of = deal(layers, options.stages);
  std::map<std::string, int> stage_of_layer;
  for (std::size_t i = 0; i < layers.size(); ++i) stage_of_layer[layers[i].name] = stage_of[i];

  Step result = step;
  for (NodeId id = 0; id < static_cast<NodeId>(result.graph.nodes().size()); ++id) {
    const Node& node = result.graph.node(id);
    const auto found = stage_of_layer.find(node.layer);
    if (found == stage_of_layer.end()) continue;
    const int stage = found->second;
    result.graph.place(id).stage = stage;
    for (VariableId v : node.variables) result.graph.mutable_variable(v).place.stage = stage;
  }
  return result;
}

}  // namespace

extern constinit const Strategy kModelParallel = {
    .name = "model_parallel",
    .term = "model parallelism",
    .summary = "layers dealt to stages, balanced by cost",
    .colour = "#CC79A7",
    .workers = WorkersAre::Stages,
    .exchange = Exchange::Synchronous,
    .processes = Processes::One,
    .options = {},
    .rewrite = model_parallel};

}  // namespace regatta
