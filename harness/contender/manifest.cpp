// SPDX-License-Identifier: Apache-2.0
#include "harness/contender/manifest.h"

#include <algorithm>
#include <utility>

#include "harness/plan/race_flags.h"
#include "kernels/runtime/schedule.h"

namespace regatta::contender {
namespace {

using Json = nlohmann::ordered_json;

const char* const kNotesOfLayout =
    "Tensors are row by row, the last dimension fastest. images: [example, row, column, channel]; "
    "weights of convolutions: [out, row, column, in / groups]; of products: [out, in], or [part, "
    "out, in] for parts that stand side by side.";
const char* const kNotesOfBf16 =
    "bf16: activations, and the copies of weights that convolutions, products and embeddings read. "
    "f32: the weights themselves, gains, biases, statistics, gradients of weights, loss, update.";

/// The constants of an update, zero where the optimizer has none.
Json constants_of(const Node& update, double gradient_clip) {
  const Attributes& attributes = update.attributes;
  const auto real = [&](const char* name) {
    return attributes.has(name) ? attributes.real(name) : 0.0;
  };
  return {{"name", update.op == Op::Adam ? "adamw" : std::string(to_string(update.op))},
          {"momentum", real("momentum")},
          {"nesterov", attributes.integer("nesterov", 0) != 0},
          {"weight_decay", real("weight_decay")},
          {"beta1", real("beta1")},
          {"beta2", real("beta2")},
          {"epsilon", real("epsilon")},
          {"gradient_clip", gradient_clip}};
}

std::vector<float> rates_of(const Node& update, std::int64_t batch, std::int64_t steps) {
  const ScheduleFunction rate_at(update.attributes);
  std::vector<float> rates;
  for (std::int64_t k = 0; k < steps; ++k) rates.push_back(static_cast<float>(rate_at(k * batch)));
  return rates;
}

/// Returns the name of the schedule, which is added if it is new.
std::string name_in(Rates& all, std::vector<float> rates) {
  const auto same = [&](const auto& each) { return each.second == rates; };
  const auto found = std::find_if(all.begin(), all.end(), same);
  if (found != all.end()) return found->first;
  all.emplace_back(all.empty() ? "rate" : "rate" + std::to_string(all.size()), std::move(rates));
  return all.back().first;
}

/// The update of a variable by its gradient; null if it is not trained.
const Node* update_of(const Step& step, VariableId variable) {
  for (const Trainable& trainable : step.trainables) {
    if (trainable.variable != variable) continue;
    for (const NodeId id : trainable.updates) {
      if (op_info(step.graph.node(id).op).learns) return &step.graph.node(id);
    }
  }
  return nullptr;
}

Json options_of(const workloads::Workload& workload, const plan::RaceRequest& request) {
  Json all = Json::object();
  const ChosenOptions chosen = workloads::with_defaults(workload, request.options);
  for (const workloads::WorkloadOption& each : workload.options) {
    const std::optional<OptionValue> value = chosen.find(*each.option);
    if (!value) continue;
    std::visit([&](const auto& is) { all[std::string(each.option->name)] = is; }, *value);
  }
  return all;
}

/// Every evaluation that a run may have: a run evaluates at each of them while its target is near.
std::vector<std::int64_t> evaluations(const plan::EvaluationPoints& points) {
  std::vector<std::int64_t> all;
  for (std::int64_t at = points.fine; at < points.total; at += points.fine) all.push_back(at);
  all.push_back(points.total);
  return all;
}

}  // namespace

Described describe(const plan::RaceRequest& request, const plan::Placement& placement,
                   const Step& training, std::int64_t steps) {
  const workloads::Workload& workload = *placement.workload;
  const plan::EvaluationPoints points = plan::evaluation_points_of(placement);
  Described all;
  Json parameters = Json::array(), optimizers = Json::object(), others = Json::array();
  const std::vector<Variable>& variables = training.graph.variables();
  for (VariableId v = 0; v < std::ssize(variables); ++v) {
    const Variable& variable = training.graph.variable(v);
    if (variable.kind != VariableKind::Parameter) continue;
    Json parameter = {{"name", variable.name}, {"shape", variable.type.dims}};
    const Node* const update = update_of(training, v);
    parameter["trained"] = update != nullptr;
    if (update != nullptr) {
      Json constants = constants_of(*update, training.gradient_clip);
      parameter["weight_decay"] = constants["weight_decay"];
      parameter["optimizer"] = constants["name"];
      parameter["rate"] = name_in(all.rates, rates_of(*update, training.global_batch, steps));
      Json& known = optimizers[constants["name"].get<std::string>()];
      if (known.is_null() || known["weight_decay"] < constants["weight_decay"]) known = constants;
    }
    parameters.push_back(parameter);
  }
  for (const Node& node : training.graph.nodes()) {
    const std::string name(to_string(node.op));
    if (node.phase != Phase::Update || op_info(node.op).learns) continue;
    if (std::find(others.begin(), others.end(), name) == others.end()) others.push_back(name);
  }
  all.manifest = {
      {"format", kDumpFormat},
      {"workload", workload.name},
      {"recipe", workload.recipe},
      {"dataset", plan::dataset_of(request, workload)},
      {"seed", request.seed},
      {"options", options_of(workload, request)},
      {"dtype", request.dtype},
      {"dtype_notes",
       placement.recipe.element == ElementType::BF16 ? kNotesOfBf16 : "f32: everything."},
      {"metric", to_string(workload.metric)},
      {"target", placement.target},
      {"global_batch", training.global_batch},
      {"steps", steps},
      {"train_examples", placement.recipe.train_examples},
      {"normalization_group", training.normalization_group},
      {"evaluate_after", evaluations(points)},
      {"evaluation_period", points.period},
      {"optimizer", optimizers.size() == 1 ? optimizers.front() : Json()},
      {"optimizers", optimizers},
      {"other_updates", others},
      {"parameters", parameters},
      {"layout", kNotesOfLayout},
      {"files",
       {"weights.safetensors", "schedule.safetensors", "inputs.safetensors", "test.safetensors",
        "graph.txt", "reference.json"}}};
  return all;
}

}  // namespace regatta::contender
