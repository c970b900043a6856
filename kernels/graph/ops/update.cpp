// SPDX-License-Identifier: Apache-2.0
//
// Updates assign variables: sgd {parameter, velocity}, adam {parameter, first, second moment}, muon
// {parameter, momentum}, assign {variable}, average {own, those of all peers}, average_with
// {variable}, lookahead {parameter, slow}. The formulas are documented with their options in
// builder.h. The outputs of muon are its scratch memory, which the memory plan gives to other nodes
// behind it: d, X before and after an iteration, A, the polynomial of A, |d|².
#include <algorithm>
#include <cmath>

#include "kernels/graph/ops/rules.h"
#include "kernels/graph/period.h"

namespace regatta {
namespace {

void set_schedule(Attributes& attributes, const Schedule& schedule) {
  check(!schedule.examples.empty() && schedule.examples.size() == schedule.values.size(),
        "a schedule has as many values as points, and at least one");
  attributes.set("schedule_examples", schedule.examples);
  attributes.set("schedule_values", schedule.values);
}

/// The dims of a parameter as matrices, [O, I] or [P, O, I].
std::vector<std::int64_t> dims_of_matrices(const TensorType& type) {
  if (type.rank() < 4) return type.dims;
  return {type.dim(0), type.elements() / type.dim(0)};
}

}  // namespace

Schedule learning_rate(const Graph& graph, const Trainable& trainable) {
  for (const NodeId id : trainable.updates) {
    const Node& update = graph.node(id);
    if (!op_info(update.op).learns) continue;
    return {.examples = update.attributes.reals("schedule_examples"),
            .values = update.attributes.reals("schedule_values")};
  }
  check(false, "an update of a trainable has a learning rate");
  return {};
}

NodeId Builder::sgd(Value gradient, VariableId parameter, VariableId velocity,
                    const SgdOptions& options) {
  Attributes attributes{{"momentum", options.momentum},
                        {"nesterov", std::int64_t{options.nesterov}},
                        {"weight_decay", options.weight_decay},
                        {"weight", options.weight}};
  set_schedule(attributes, options.rate);
  return append({.op = Op::Sgd,
                 .attributes = attributes,
                 .inputs = {gradient},
                 .variables = {parameter, velocity},
                 .outputs = {},
                 .place = place_,
                 .phase = Phase::Update,
                 .layer = layer_});
}

NodeId Builder::adam(Value gradient, VariableId parameter, VariableId first, VariableId second,
                     const AdamOptions& options) {
  Attributes attributes{{"beta1", options.beta1},
                        {"beta2", options.beta2},
                        {"epsilon", options.epsilon},
                        {"weight_decay", options.weight_decay},
                        {"weight", options.weight}};
  set_schedule(attributes, options.rate);
  return append({.op = Op::Adam,
                 .attributes = attributes,
                 .inputs = {gradient},
                 .variables = {parameter, first, second},
                 .outputs = {},
                 .place = place_,
                 .phase = Phase::Update,
                 .layer = layer_});
}

NodeId Builder::muon(Value gradient, VariableId parameter, VariableId momentum,
                     const MuonOptions& options) {
  const std::vector<std::int64_t> dims = dims_of_matrices(graph_.variable(parameter).type);
  const auto longer = static_cast<double>(std::max(dims.end()[-2], dims.back()));
  Attributes attributes{{"momentum", options.momentum},
                        {"weight_decay", options.weight_decay},
                        {"weight", options.weight},
                        {"normalized", std::int64_t{options.normalized}},
                        {"iterations", options.iterations},
                        {"scale", options.scale.value_or(0.2 * std::sqrt(longer))},
                        {"element", static_cast<std::int64_t>(options.element)}};
  set_schedule(attributes, options.rate);
  return append({.op = Op::Muon,
                 .attributes = attributes,
                 .inputs = {gradient},
                 .variables = {parameter, momentum},
                 .outputs = {},
                 .place = place_,
                 .phase = Phase::Update,
                 .layer = layer_});
}

NodeId Builder::lookahead(VariableId parameter, VariableId slow, const LookaheadOptions& options) {
  Attributes attributes{{"global_batch", options.global_batch},
                        {"total_examples", options.total_examples}};
  set_period(attributes, {.every = options.period});
  set_schedule(attributes, options.decay);
  return append({.op = Op::Lookahead,
                 .attributes = attributes,
                 .inputs = {},
                 .variables = {parameter, slow},
                 .outputs = {},
                 .place = place_,
                 .phase = Phase::Update,
                 .layer = layer_});
}

NodeId Builder::assign(Value value, VariableId variable) {
  return node(Op::Assign, {value}, {}, {variable}).node;
}

Value Builder::average_with(Value value, VariableId variable) {
  return node(Op::AverageWith, {value}, {}, {variable});
}

NodeId Builder::average(VariableId own, const std::vector<VariableId>& others,
                        std::int64_t replica) {
  std::vector<VariableId> variables{own};
  variables.insert(variables.end(), others.begin(), others.end());
  return node(Op::Average, {}, {{"replica", replica}}, std::move(variables)).node;
}

namespace rules {

Types infer_sgd(const InferRequest& request) {
  check(request.inputs.size() == 1 && request.variables.size() == 2 &&
            request.inputs[0] == request.variables[0] && request.inputs[0] == request.variables[1],
        "sgd: gradient, parameter and velocity have one type");
  return {};
}

Types infer_adam(const InferRequest& request) {
  check(request.inputs.size() == 1 && request.variables.size() == 3, "adam: gradient, 3 variables");
  for (const TensorType& type : request.variables) {
    check(type == request.inputs[0], "adam: gradient, parameter and moments have one type");
  }
  return {};
}

Types infer_muon(const InferRequest& request) {
  check(request.inputs.size() == 1 && request.variables.size() == 2 &&
            request.inputs[0] == request.variables[0] && request.inputs[0] == request.variables[1],
        "muon: gradient, parameter and momentum have one type");
  const TensorType& d = request.inputs[0];
  check(d.rank() >= 2 && d.rank() <= 4, "muon: a parameter [O, I], [P, O, I] or [O, K, K, I]");
  const auto element = static_cast<ElementType>(request.attributes.integer("element"));
  const std::vector<std::int64_t> dims = dims_of_matrices(d);
  const std::int64_t matrices = dims.size() == 3 ? dims[0] : 1;
  const std::int64_t side = std::min(dims.end()[-2], dims.back());
  const TensorType x{element, dims}, a{element, {matrices, side, side}};
  return {{d.element, dims}, x, x, a, a, {ElementType::F32, {matrices}}};
}

std::int64_t multiply_adds_muon(const Graph& graph, const Node& node) {
  const TensorType& type = graph.variable(node.variables[0]).type;
  const std::vector<std::int64_t> dims = dims_of_matrices(type);
  const std::int64_t side = std::min(dims.end()[-2], dims.back());
  const std::int64_t matrices = dims.size() == 3 ? dims[0] : 1;
  return node.attributes.integer("iterations") *
         (2 * type.elements() * side + matrices * side * side * side);
}

Types infer_assign(const InferRequest& request) {
  check(request.inputs.size() == 1 && request.variables.size() == 1 &&
            request.inputs[0] == request.variables[0],
        "assign: value and variable have one type");
  return {};
}

Types infer_average(const InferRequest& request) {
  check(request.inputs.empty() && request.variables.size() >= 2,
        "average: a variable and those of other replicas");
  for (const TensorType& type : request.variables) {
    check(type == request.variables[0], "average: all variables have one type");
  }
  return {};
}

Types infer_average_with(const InferRequest& request) {
  check(request.inputs.size() == 1 && request.variables.size() == 1 &&
            request.inputs[0] == request.variables[0],
        "average_with: value and variable have one type");
  return {request.variables[0]};
}

Types infer_lookahead(const InferRequest& request) {
  check(request.variables.size() == 2 && request.variables[0] == request.variables[1],
        "lookahead: parameter and slow copy have one type");
  return {};
}

}  // namespace rules
}  // namespace regatta
