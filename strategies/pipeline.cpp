// SPDX-License-Identifier: Apache-2.0
//
// pipeline: divides the model among stages like model_parallel, and the batch into m microbatches,
// so that stages work at the same time. Each microbatch has its own copies of the forward and
// backward nodes; their gradients are added up in the order of microbatches under every schedule,
// so that all schedules compute the same bits as one stage that accumulates. The schedule
// (pipeline_schedule.h) is the order in which the nodes stand in the graph. Microbatches update
// running statistics one by one. With shares w_k of the batch and momentum a, microbatch k has
// momentum a w_k / (1 - a (w_k+1 + ... + w_m)): together they have the effect of the whole batch.
// Term: pipeline parallelism; GPipe, PipeDream-Flush (1F1B), interleaved 1F1B, zero bubble.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/copier.h"
#include "strategies/pipeline_schedule.h"
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

constexpr Option kMicrobatches = {.name = "microbatches",
                                  .help =
                                      "parts of a replica's batch that follow each other "
                                      "through a pipeline, in whole normalisation groups",
                                  .unit = "",
                                  .type = Count{.default_value = 4, .least = 1, .most = 1024}};

constexpr Option kChunks = {
    .name = "chunks",
    .help = "parts of the model at each stage of an interleaved pipeline; without it 2",
    .unit = "",
    .type = Count{.default_value = std::nullopt, .least = 1, .most = 64}};

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

/// Rewrites one step.
class Pipeline {
 public:
  Pipeline(const Step& source, const StrategyOptions& options)
      : source_(source),
        shape_(shape_of(options)),
        chunks_(divide_model(
            source.graph,
            {.stages = shape_.stages,
             .chunks = shape_.chunks,
             .parts = options.counts(kStageParts)},
            "strategy 'pipeline' with " + std::to_string(shape_.stages) + " stages" +
                (shape_.chunks > 1 ? " of " + std::to_string(shape_.chunks) + " chunks" : ""))),
        passes_(in_one_order(pipeline_schedule(options.choice(kSchedule), shape_), shape_)),
        result_(source),
        once_(source.graph) {
    result_.graph = Graph();
    for (std::int64_t k = 0; k < shape_.microbatches; ++k) copiers_.emplace_back(source.graph);
    deal_nodes();
    find_leaving();
    add_variables();
  }

  Step run() {
    for (NodeId id = 0; id < size(); ++id) {
      if (role(id) == Part::Before) copy_once(id);
    }
    for (const Pass& pass : passes_) {
      for (NodeId id : nodes_of_pass(pass)) copy(id, pass.microbatch);
    }
    for (NodeId id = 0; id < size(); ++id) {
      if (role(id) == Part::After) copy_once(id);
    }
    for (Trainable& trainable : result_.trainables) {
      trainable.variable = once_.variable(trainable.variable);
      trainable.gradient = once_.value(trainable.gradient);
      for (NodeId& update : trainable.updates) update = copied_.at(update);
    }
    for (Value& loss : result_.losses) loss = once_.value(loss);
    return std::move(result_);
  }

 private:
  /// Whether a node exists once, before or after the microbatches, or once for each of them.
  enum class Part : std::uint8_t { Before, Microbatch, After };

  static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }
  NodeId size() const { return static_cast<NodeId>(source_.graph.nodes().size()); }
  Part role(NodeId id) const { return parts_[static_cast<std::size_t>(id)]; }
  std::int64_t chunk(NodeId id) const { return chunks_.of_node[static_cast<std::size_t>(id)]; }
  Place place(NodeId id) const {
    Place place = source_.graph.node(id).place;
    place.stage = static_cast<int>(chunk(id) % shape_.stages);
    return place;
  }

  void deal_nodes() {
    std::vector<bool> of_batch(source_.graph.nodes().size());
    for (NodeId id = 0; id < size(); ++id) {
      const Node& node = source_.graph.node(id);
      const bool computes = node.phase == Phase::Forward || node.phase == Phase::Backward;
      of_batch[static_cast<std::size_t>(id)] =
          node.phase == Phase::Input ||
          std::any_of(node.inputs.begin(), node.inputs.end(),
                      [&](Value input) { return of_batch[static_cast<std::size_t>(input.node)]; });
      const bool part = computes && of_batch[static_cast<std::size_t>(id)];
      const bool before = computes || node.phase == Phase::Input;
      parts_.push_back(part ? Part::Microbatch : before ? Part::Before : Part::After);
      if (part) by_pass_[{kind_of(id), chunk(id)}].push_back(id);
    }
    find_input_gradients();
  }

  PassKind kind_of(NodeId id) const {
    return source_.graph.node(id).phase == Phase::Forward ? PassKind::Forward : PassKind::Backward;
  }

  /// Separates the backward nodes on which earlier chunks depend, directly or not, from the others.
  void find_input_gradients() {
    std::set<NodeId> awaited;
    for (NodeId id = size() - 1; id >= 0; --id) {
      if (role(id) != Part::Microbatch || kind_of(id) != PassKind::Backward) continue;
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

  /// Finds values of microbatches that nodes outside of them use; these use the sums instead.
  void find_leaving() {
    const auto note = [&](Value value) {
      if (role(value.node) == Part::Microbatch) leaving_[value.node].insert(value);
    };
    for (NodeId id = 0; id < size(); ++id) {
      if (role(id) == Part::Microbatch) continue;
      for (Value input : source_.graph.node(id).inputs) note(input);
    }
    for (const Trainable& trainable : source_.trainables) note(trainable.gradient);
    for (Value loss : source_.losses) note(loss);
  }

  void add_variables() {
    for (VariableId v = 0; v < static_cast<VariableId>(source_.graph.variables().size()); ++v) {
      Variable variable = source_.graph.variable(v);
      const std::int64_t chunk = chunks_.of_variable[static_cast<std::size_t>(v)];
      variable.place.stage = static_cast<int>(chunk % shape_.stages);
      const VariableId added = result_.graph.add(variable);
      once_.map_variable(v, added);
      for (Copier& copier : copiers_) copier.map_variable(v, added);
    }
  }

  const std::vector<NodeId>& nodes_of_pass(const Pass& pass) {
    return by_pass_[{pass.kind, pass.chunk}];
  }

  void copy_once(NodeId id) {
    Node node = once_.translate(id);
    node.place = place(id);
    copied_[id] = result_.graph.add(std::move(node));
    once_.map_outputs(id, copied_[id]);
  }

  void copy(NodeId id, std::int64_t microbatch) {
    Copier& copier = copiers_[at(microbatch)];
    Node node = source_.graph.node(id);
    for (Value& input : node.inputs) input = value(input, microbatch, place(id));
    for (VariableId& v : node.variables) v = once_.variable(v);
    node.place = place(id);
    if (op_info(node.op).assigns && node.attributes.has("momentum")) {
      node.attributes.set("momentum",
                          momentum_of(node.attributes.real("momentum"), microbatch, id));
    }
    copier.map_outputs(id, result_.graph.add(std::move(node)));
    if (const auto found = leaving_.find(id); found != leaving_.end()) {
      for (Value leaving : found->second) accumulate(leaving, microbatch);
    }
  }

  /// The value that a microbatch's node at `place` reads in place of `source`.
  Value value(Value source, std::int64_t microbatch, const Place& place) {
    if (role(source.node) == Part::Microbatch) return copiers_[at(microbatch)].value(source);
    if (source_.graph.node(source.node).phase != Phase::Input) return once_.value(source);
    const auto [entry, is_new] = slices_.try_emplace({source, microbatch, place});
    if (is_new) {
      const std::vector<std::int64_t> rows = rows_of(source);
      Builder builder(result_.graph);
      builder.at(place).in(Phase::Input).layer("input");
      entry->second =
          builder.slice(once_.value(source),
                        std::accumulate(rows.begin(), rows.begin() + microbatch, std::int64_t{0}),
                        rows[at(microbatch)]);
    }
    return entry->second;
  }

  /// The number of examples in each microbatch of a batch.
  std::vector<std::int64_t> rows_of(Value batch) const {
    const std::int64_t rows = source_.graph.type(batch).dim(0);
    const std::int64_t groups = rows / source_.normalization_group;
    if (groups < shape_.microbatches) {
      throw wrong_pipeline("--microbatches " + std::to_string(shape_.microbatches) +
                           " of a batch of " + std::to_string(rows) +
                           " examples in normalisation groups of " +
                           std::to_string(source_.normalization_group) + "; 1 to " +
                           std::to_string(groups) + " are possible");
    }
    std::vector<std::int64_t> dealt = dealt_groups(groups, shape_.microbatches);
    for (std::int64_t& each : dealt) each *= source_.normalization_group;
    return dealt;
  }

  double momentum_of(double momentum, std::int64_t microbatch, NodeId id) const {
    const std::vector<std::int64_t> rows = rows_of(source_.graph.node(id).inputs[0]);
    const auto all =
        static_cast<double>(std::accumulate(rows.begin(), rows.end(), std::int64_t{0}));
    const auto later = static_cast<double>(
        std::accumulate(rows.begin() + microbatch + 1, rows.end(), std::int64_t{0}));
    return momentum * static_cast<double>(rows[at(microbatch)]) / (all - momentum * later);
  }

  void accumulate(Value value, std::int64_t microbatch) {
    const Value part = copiers_[at(microbatch)].value(value);
    if (microbatch == 0) {
      once_.map(value, part);
      return;
    }
    const Node& node = source_.graph.node(value.node);
    Builder builder(result_.graph);
    builder.at(place(value.node)).in(node.phase).layer(node.layer);
    once_.map(value, builder.sum({once_.value(value), part}));
  }

  const Step& source_;
  PipelineShape shape_;
  Stages chunks_;
  std::vector<Pass> passes_;
  Step result_;
  Copier once_;                  ///< maps nodes that exist once, and sums over microbatches
  std::vector<Copier> copiers_;  ///< by microbatch
  std::vector<Part> parts_;      ///< by node
  std::map<std::pair<PassKind, std::int64_t>, std::vector<NodeId>> by_pass_;
  std::map<NodeId, std::set<Value>> leaving_;
  std::map<std::tuple<Value, std::int64_t, Place>, Value> slices_;
  std::map<NodeId, NodeId> copied_;
};

Step pipeline(const Step& step, const StrategyOptions& options) {
  return Pipeline(step, options).run();
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
    .options = options<kSchedule, kMicrobatches, kChunks, kStagesPerProcess, kStageParts>,
    .rewrite = pipeline,
    .elsewhere = {{{"gpipe", "--schedule gpipe"}, {"1f1b", "--schedule 1f1b"}}}};

}  // namespace regatta::strategies
