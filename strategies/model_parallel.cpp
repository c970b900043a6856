// SPDX-License-Identifier: Apache-2.0
//
// model_parallel: divides the layers, in order, among p stages so that the most expensive stage is
// as cheap as possible. Backward and update nodes are on the stage of their layer. At each border
// between stages the activations of an example travel forward and a gradient of the same size back.
// Term: model parallelism without pipelining: one stage works at a time.
#include <map>
#include <string>

#include "strategies/stages.h"
#include "strategies/strategy.h"

namespace regatta {
namespace {

Step model_parallel(const Step& step, const StrategyOptions& options) {
  const std::map<std::string, int> stage_of_layer = stages_of_layers(
      step.graph, options.stages,
      "strategy 'model_parallel' with " + std::to_string(options.stages) + " stages");

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
