// SPDX-License-Identifier: Apache-2.0
#include "harness/contender/manifest.h"

#include <algorithm>

#include "harness/plan/race_flags.h"
#include "kernels/runtime/schedule.h"
#include "workloads/workload.h"

namespace regatta::contender {
namespace {

using Json = nlohmann::ordered_json;

const char* const kNotes =
    "Tensors are row by row. images: [example, row, column, channel]; weights of convolutions: "
    "[out, row, column, in / groups]; of products: [out, in], or [part, out, in] side by side. "
    "With dtype bf16, activations, and the copies of weights that convolutions, products and "
    "embeddings read, are bf16; weights themselves, gains, biases, statistics, gradients of "
    "weights, loss and update are f32. graph.txt has every step of the computation.";

/// The constants of an update, zero where the optimizer has none.
Json constants_of(const Node& update, double gradient_clip) {
  Json constants = {{"name", update.op == Op::Adam ? "adamw" : to_string(update.op)}};
  for (const char* name : {"momentum", "weight_decay", "beta1", "beta2", "epsilon"})
    constants[name] = update.attributes.has(name) ? update.attributes.real(name) : 0.0;
  constants["nesterov"] = update.attributes.integer("nesterov", 0) != 0;
  constants["gradient_clip"] = gradient_clip;
  return constants;
}

/// Returns the name of the update's schedule, which is added if it is new.
std::string rate_of(const Node& update, const plan::Placement& placement, Manifest& manifest) {
  const ScheduleFunction rate_at(update.attributes);
  std::vector<float> rates;
  const workloads::Recipe& recipe = placement.recipe;
  for (std::int64_t seen = 0; seen < recipe.total_examples; seen += recipe.global_batch)
    rates.push_back(static_cast<float>(rate_at(seen)));
  for (const auto& [name, known] : manifest.rates) {
    if (known == rates) return name;
  }
  const std::size_t count = manifest.rates.size();
  const std::string name = count == 0 ? "rate" : "rate" + std::to_string(count);
  manifest.rates.emplace_back(name, std::move(rates));
  return name;
}

/// The update of a variable by its gradient; null if it is not trained.
const Node* update_of(const Step& step, VariableId variable) {
  for (const Trainable& trainable : step.trainables) {
    for (const NodeId id : trainable.updates) {
      const Node& update = step.graph.node(id);
      if (trainable.variable == variable && op_info(update.op).learns) return &update;
    }
  }
  return nullptr;
}

Json options_of(const workloads::Workload& workload, const plan::RaceRequest& request) {
  Json all = Json::object();
  const ChosenOptions chosen = workloads::with_defaults(workload, request.options);
  for (const workloads::WorkloadOption& each : workload.options) {
    const std::optional<OptionValue> value = chosen.find(*each.option);
    if (value) std::visit([&](auto& is) { all[std::string(each.option->name)] = is; }, *value);
  }
  return all;
}

/// Every point at which a run may be evaluated; while the target is near, all of them are used.
std::vector<std::int64_t> evaluations(const plan::EvaluationPoints& points) {
  std::vector<std::int64_t> all;
  for (std::int64_t at = points.fine; at < points.total; at += points.fine) all.push_back(at);
  all.push_back(points.total);
  return all;
}

}  // namespace

Manifest manifest_of(const plan::RaceRequest& request, const plan::Placement& placement,
                     const Step& training) {
  const workloads::Workload& workload = *placement.workload;
  const plan::EvaluationPoints points = plan::evaluation_points_of(placement);
  Manifest manifest;
  Json parameters = Json::array(), optimizers = Json::object(), others = Json::array();
  for (VariableId v = 0; v < std::ssize(training.graph.variables()); ++v) {
    const Variable& variable = training.graph.variable(v);
    if (variable.kind != VariableKind::Parameter) continue;
    Json parameter = {{"name", variable.name}, {"shape", variable.type.dims}};
    const Node* const update = update_of(training, v);
    parameter["trained"] = update != nullptr;
    if (update != nullptr) {
      const Json constants = constants_of(*update, training.gradient_clip);
      parameter["weight_decay"] = constants["weight_decay"];
      parameter["optimizer"] = constants["name"];
      parameter["rate"] = rate_of(*update, placement, manifest);
      Json& known = optimizers[constants["name"].get<std::string>()];
      if (known.is_null() || known["weight_decay"] < constants["weight_decay"]) known = constants;
    }
    parameters.push_back(parameter);
  }
  for (const Node& node : training.graph.nodes()) {
    const Json name = to_string(node.op);
    if (node.phase != Phase::Update || op_info(node.op).learns) continue;
    if (std::find(others.begin(), others.end(), name) == others.end()) others.push_back(name);
  }
  manifest.text = {{"format", kDumpFormat},
                   {"workload", workload.name},
                   {"recipe", workload.recipe},
                   {"dataset", plan::dataset_of(request, workload)},
                   {"seed", request.seed},
                   {"options", options_of(workload, request)},
                   {"dtype", request.dtype},
                   {"metric", to_string(workload.metric)},
                   {"target", placement.target},
                   {"global_batch", training.global_batch},
                   {"steps", placement.recipe.total_examples / training.global_batch},
                   {"train_examples", placement.recipe.train_examples},
                   {"normalization_group", training.normalization_group},
                   {"evaluate_after", evaluations(points)},
                   {"evaluation_period", points.period},
                   {"optimizer", optimizers.size() == 1 ? optimizers.front() : Json()},
                   {"optimizers", optimizers},
                   {"other_updates", others},
                   {"parameters", parameters},
                   {"notes", kNotes}};
  return manifest;
}

}  // namespace regatta::contender
