// SPDX-License-Identifier: Apache-2.0
//
// pipeline: divides the model among stages like model_parallel, and the batch into m microbatches
// (microbatches.h), so that stages work at the same time. Gradients are added up in the order of
// microbatches under every schedule, so that all schedules compute the same bits as one stage that
// accumulates. The schedule (pipeline_schedule.h) is the order in which the nodes stand in the
// graph. Term: pipeline parallelism; GPipe, PipeDream-Flush (1F1B), interleaved 1F1B, zero bubble.
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "strategies/microbatches.h"
#include "strategies/pipeline_schedule.h"
#include "strategies/scatter.h"
#include "strategies/shared_options.h"
#include "strategies/stages.h"
#include "strategies/strategy.h"

namespace regatta::strategies {
namespace {

constexpr Option kSchedule = {
    .name = "schedule",
    .help = "the order of a pipeline's passes: gpipe, 1f1b, interleaved or zero_bubble",
    .unit = "",
    .type = Choice{.default_value = k1f1b, .words = kSchedules}};

constexpr Option kChunks = {
    .name = "chunks",
    .help = "parts of the model at each stage of an interleaved pipeline; without it 2",
    .unit = "",
    .type = Count{.default_value = std::nullopt, .least = 1, .most = 64}};

constexpr std::array<std::string_view, 2> kNoOrYes = {"no", "yes"};
constexpr Option kScatterMessages = {
    .name = "scatter_messages",
    .help =
        "yes: each of t shards sends a part of an activation that all have to the next stage, "
        "whose shards gather it: 1 / t of the bytes between hosts, the rest inside one",
    .unit = "",
    .type = Choice{.default_value = kNoOrYes[0], .words = kNoOrYes}};

RunError wrong_pipeline(const std::string& text) {
  return {ErrorKind::Usage, "strategy 'pipeline': " + text};
}

PipelineShape shape_of(const StrategyOptions& options) {
  const bool interleaves = options.choice(kSchedule) == kInterleaved;
  const std::optional<std::int64_t> chunks = options.count_if_any(kChunks);
  if (chunks && !interleaves) {
    throw wrong_pipeline("--chunks is an option of --schedule interleaved; fix: leave it out");
  }
  const PipelineShape shape{.stages = options.stages,
                            .chunks = interleaves ? chunks.value_or(2) : 1,
                            .microbatches = options.count(kMicrobatches)};
  if (interleaves && shape.microbatches % shape.stages != 0) {
    throw wrong_pipeline("--schedule interleaved sends microbatches in groups of its " +
                         std::to_string(shape.stages) +
                         " stages; fix: give --microbatches a multiple of " +
                         std::to_string(shape.stages));
  }
  return shape;
}

/// Returns the step with each node and variable at its chunk's stage.
Step at_stages(Step step, const Stages& chunks, std::int64_t stages) {
  for (NodeId id = 0; id < std::ssize(chunks.of_node); ++id) {
    step.graph.place(id).stage =
        static_cast<int>(chunks.of_node[static_cast<std::size_t>(id)] % stages);
  }
  for (VariableId v = 0; v < std::ssize(chunks.of_variable); ++v) {
    step.graph.mutable_variable(v).place.stage =
        static_cast<int>(chunks.of_variable[static_cast<std::size_t>(v)] % stages);
  }
  return step;
}

/// Rewrites one step.
class Pipeline {
 public:
  Pipeline(const Step& source, const StrategyOptions& options)
      : shape_(shape_of(options)),
        chunks_(divide_model(
            source.graph,
            {.stages = shape_.stages,
             .chunks = shape_.chunks,
             .parts = options.counts(kStageParts)},
            "strategy 'pipeline' with " + std::to_string(shape_.stages) + " stages" +
                (shape_.chunks > 1 ? " of " + std::to_string(shape_.chunks) + " chunks" : ""))),
        passes_(in_one_order(pipeline_schedule(options.choice(kSchedule), shape_), shape_)),
        source_(at_stages(source, chunks_, shape_.stages)),
        microbatches_(source_, shape_.microbatches) {
    for (NodeId id = 0; id < size(); ++id) {
      if (microbatches_.has(id)) by_pass_[{kind_of(id), chunk(id)}].push_back(id);
    }
    find_input_gradients();
  }

  Step run() {
    for (const Pass& pass : passes_) {
      for (NodeId id : by_pass_[{pass.kind, pass.chunk}]) microbatches_.add(id, pass.microbatch);
    }
    return microbatches_.finish();
  }

 private:
  NodeId size() const { return static_cast<NodeId>(source_.graph.nodes().size()); }
  std::int64_t chunk(NodeId id) const { return chunks_.of_node[static_cast<std::size_t>(id)]; }
  PassKind kind_of(NodeId id) const {
    return pass_of(source_.graph, source_.graph.node(id)) == Phase::Forward ? PassKind::Forward
                                                                            : PassKind::Backward;
  }

  /// Separates the backward nodes on which earlier chunks depend, directly or not, from the others.
  void find_input_gradients() {
    std::set<NodeId> awaited;
    for (NodeId id = size() - 1; id >= 0; --id) {
      if (!microbatches_.has(id) || kind_of(id) != PassKind::Backward) continue;
      for (Value input : source_.graph.node(id).inputs) {
        const bool leaves = chunk(input.node) > chunk(id);
        if (leaves || (awaited.contains(id) && chunk(input.node) == chunk(id))) {
          awaited.insert(input.node);
        }
      }
    }
    for (std::int64_t c = 0; c < shape_.all_chunks(); ++c) {
      for (NodeId id : by_pass_[{PassKind::Backward, c}]) {
        const PassKind kind =
            awaited.contains(id) ? PassKind::InputGradients : PassKind::WeightGradients;
        by_pass_[{kind, c}].push_back(id);
      }
    }
  }

  PipelineShape shape_;
  Stages chunks_;
  std::vector<Pass> passes_;
  Step source_;  ///< at stages
  Microbatches microbatches_;
  std::map<std::pair<PassKind, std::int64_t>, std::vector<NodeId>> by_pass_;
};

Step pipeline(const Step& step, const StrategyOptions& options) {
  Step result = Pipeline(step, options).run();
  return options.choice(kScatterMessages) == kNoOrYes[0] ? result : scatter_messages(result);
}

}  // namespace

extern constinit const Strategy kPipeline = {
    .name = "pipeline",
    .term = "pipeline parallelism",
    .summary = "microbatches through stages in the order of a schedule",
    .colour = "#AA3377",
    .workers = WorkersAre::Stages,
    .exchange = Exchange::Synchronous,
    .processes = Processes::OfPlaces,
    .options = options<kSchedule, kMicrobatches, kChunks, kStagesPerProcess, kStageParts,
                       kScatterMessages>,
    .rewrite = pipeline,
    .elsewhere = {{{"gpipe", "--schedule gpipe"}, {"1f1b", "--schedule 1f1b"}}},
    .builds = Builds::OneOfAlike};

}  // namespace regatta::strategies
