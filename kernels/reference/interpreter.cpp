// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/interpreter.h"

#include <algorithm>
#include <cstring>

#include "kernels/base/error.h"
#include "kernels/distribute/loops.h"
#include "kernels/reference/reference_kernels.h"
#include "kernels/runtime/initialize.h"
#include "kernels/runtime/occasional.h"
#include "kernels/runtime/plan.h"

namespace regatta::reference {

Interpreter::Interpreter(const Graph& graph, std::uint64_t seed, const InitialValues& initial)
    : graph_(graph) {
  KernelTable table("reference");
  add_reference_kernels(table);
  const std::vector<int> loop_of = loops(graph);
  for (VariableId id = 0; id < static_cast<VariableId>(graph.variables().size()); ++id) {
    add_variable(id, seed, initial);
  }
  for (const auto& [name, elements] : initial) {
    check(std::any_of(graph.variables().begin(), graph.variables().end(),
                      [&](const Variable& variable) { return variable.name == name; }),
          "initial values name a variable of the graph");
  }
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    add_values(id);
    add_kernel(table, id, loop_of[static_cast<std::size_t>(id)]);
  }
}

void* Interpreter::allocate(const TensorType& type) {
  buffers_.push_back(std::make_unique<std::byte[]>(static_cast<std::size_t>(type.bytes())));
  return buffers_.back().get();
}

void Interpreter::add_variable(VariableId id, std::uint64_t seed, const InitialValues& initial) {
  const Variable& variable = graph_.variable(id);
  auto& storage = *variables_.emplace_back(std::make_unique<VariableStorage>());
  storage.tensor = {.type = variable.type, .data = allocate(variable.type)};
  storage.sharing = variable.sharing;
  storage.counts = &counts_.emplace_back();
  const auto given = initial.find(variable.name);
  if (given == initial.end()) return initialize(graph_, id, seed, storage.tensor.f32());
  check(static_cast<std::int64_t>(given->second.size()) == variable.type.elements(),
        "initial values are as many as the variable's elements");
  std::copy(given->second.begin(), given->second.end(), storage.tensor.f32());
}

void Interpreter::add_values(NodeId id) {
  const Node& node = graph_.node(id);
  std::vector<Tensor> outputs;
  VariableId viewed = -1;
  if (!is_view(graph_, node)) {
    for (const TensorType& type : node.outputs) {
      outputs.push_back({.type = type, .data = allocate(type)});
    }
  } else if (node.op == Op::Read) {
    viewed = node.variables[0];
    outputs.push_back({.type = node.outputs[0], .data = storage(viewed).tensor.data});
  } else {
    viewed = viewed_[static_cast<std::size_t>(node.inputs[0].node)];
    const Tensor& whole = tensor(node.inputs[0]);
    std::int64_t offset = 0;  // in bytes
    if (node.op == Op::Slice) {
      offset = node.attributes.integer("offset") * whole.type.bytes() / whole.type.dim(0);
    }
    outputs.push_back({.type = node.outputs[0], .data = whole.as<std::byte>() + offset});
  }
  values_.push_back(std::move(outputs));
  viewed_.push_back(viewed);
}

void Interpreter::add_kernel(const KernelTable& table, NodeId id, int loop) {
  const Node& node = graph_.node(id);
  kernels_.emplace_back();
  if (is_view(graph_, node) || node.op == Op::Input) return;
  std::vector<Tensor> inputs;
  for (Value input : node.inputs) inputs.push_back(tensor(input));
  std::vector<VariableStorage*> variables;
  std::vector<SeenVersion*> versions_seen;
  for (VariableId v : node.variables) {
    variables.push_back(&storage(v));
    const bool shared = storage(v).sharing != Sharing::None;
    versions_seen.push_back(shared ? &versions_seen_[{loop, v}] : nullptr);
  }
  kernels_.back() = in_its_steps(table.build({.node = node,
                                              .inputs = inputs,
                                              .outputs = values_.back(),
                                              .variables = variables,
                                              .versions_seen = versions_seen}),
                                 node_steps(node));
}

const Tensor& Interpreter::tensor(Value value) const {
  return values_.at(static_cast<std::size_t>(value.node))
      .at(static_cast<std::size_t>(value.output));
}

void Interpreter::write(Value value, ElementType element, const void* elements, std::size_t count) {
  const Tensor& destination = tensor(value);
  check(destination.type.element == element &&
            destination.elements() == static_cast<std::int64_t>(count),
        "a value is set to elements of its type and number");
  std::memcpy(destination.data, elements, static_cast<std::size_t>(destination.type.bytes()));
}

void Interpreter::set(Value value, std::span<const float> elements) {
  write(value, ElementType::F32, elements.data(), elements.size());
}

void Interpreter::set(Value value, std::span<const std::int32_t> elements) {
  write(value, ElementType::I32, elements.data(), elements.size());
}

void Interpreter::run_node(NodeId id, const StepContext& context) {
  const auto& kernel = kernels_.at(static_cast<std::size_t>(id));
  if (kernel == nullptr) return;
  StepContext counted = context;
  if (counted.counters == nullptr) counted.counters = &counters_;
  kernel->run(counted);
}

void Interpreter::run_all(const StepContext& context) {
  for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) run_node(id, context);
}

}  // namespace regatta::reference
