// SPDX-License-Identifier: Apache-2.0
//
// Updates assign variables: sgd {parameter, velocity}, adam {parameter, first, second moment},
// assign {variable}, average {own, those of all peers}, average_with {variable}, lookahead
// {parameter, slow}. The formulas are documented with their options in builder.h.
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

}  // namespace

Schedule learning_rate(const Graph& graph, const Trainable& trainable) {
  for (const NodeId id : trainable.updates) {
    const Node& update = graph.node(id);
    if (update.op != Op::Sgd && update.op != Op::Adam) continue;
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
