// SPDX-License-Identifier: Apache-2.0
#include "strategies/stages.h"

#include <algorithm>
#include <vector>

#include "kernels/graph/error.h"
#include "kernels/graph/traffic.h"

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

bool has_stages(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const Node& node) { return node.place.stage != 0; });
}

}  // namespace

std::map<std::string, int> stages_of_layers(const Graph& graph, std::int64_t stages,
                                            std::string_view what) {
  const std::vector<Layer> layers = layers_of(graph);
  const std::string most = std::to_string(layers.size());
  if (stages < 1 || stages > static_cast<std::int64_t>(layers.size())) {
    throw RunError(ErrorKind::Usage, std::string(what) + ": this model has " + most +
                                         " layers, so 1 to " + most + " stages are possible");
  }
  if (has_stages(graph)) {
    throw RunError(ErrorKind::Usage, std::string(what) +
                                         ": the step has stages already; fix: leave one of the "
                                         "strategies that make stages out");
  }
  const std::vector<int> dealt = deal(layers, stages);
  std::map<std::string, int> stage_of;
  for (std::size_t i = 0; i < layers.size(); ++i) stage_of[layers[i].name] = dealt[i];
  return stage_of;
}

}  // namespace regatta
