// SPDX-License-Identifier: Apache-2.0
//
// model_parallel: divides the model among p stages so that the most expensive stage is as cheap as
// possible. At each border between stages the activations of an example travel forward and a
// gradient of the same size back. Term: model parallelism without pipelining: one stage works at a
// time.
#include <string>

#include "strategies/shared_options.h"
#include "strategies/stages.h"
#include "strategies/strategy.h"

namespace regatta::strategies {
namespace {

Step model_parallel(const Step& step, const StrategyOptions& options) {
  const Stages stages =
      divide_model(step.graph, {.stages = options.stages, .parts = options.counts(kStageParts)},
                   "strategy 'model_parallel' with " + std::to_string(options.stages) + " stages");
  Step result = step;
  for (NodeId id = 0; id < static_cast<NodeId>(result.graph.nodes().size()); ++id) {
    result.graph.place(id).stage = stages.of_node[static_cast<std::size_t>(id)];
  }
  for (VariableId v = 0; v < static_cast<VariableId>(result.graph.variables().size()); ++v) {
    const int stage = stages.of_variable[static_cast<std::size_t>(v)];
    result.graph.mutable_variable(v).place.stage = stage;
  }
  return result;
}

}  // namespace

extern constinit const Strategy kModelParallel = {
    .name = "model_parallel",
    .term = "model parallelism",
    .summary = "the model divided among stages, balanced by cost",
    .colour = "#CC79A7",
    .workers = WorkersAre::Stages,
    .exchange = Exchange::Synchronous,
    .processes = Processes::OfPlaces,
    .options = options<kStagesPerProcess, kStageParts>,
    .rewrite = model_parallel,
    .builds = Builds::OneOfAlike};

}  // namespace regatta::strategies
