// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/interpreter.h"

#include <algorithm>
#include <cstring>
#include <numeric>

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
    if (is_collective(graph.node(id).op)) {
      collective_of(id).nodes[graph.node(id).member] = id;
    }
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
  if (is_view(graph_, node) || node.op == Op::Input || is_collective(node.op)) return;
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
  if (is_collective(graph_.node(id).op)) return arrive(id);
  const auto& kernel = kernels_.at(static_cast<std::size_t>(id));
  if (kernel == nullptr) return;
  StepContext counted = context;
  if (counted.counters == nullptr) counted.counters = &counters_;
  kernel->run(counted);
}

Interpreter::Collective& Interpreter::collective_of(NodeId id) {
  return collectives_[graph_.node(id).attributes.integer("group")];
}

void Interpreter::arrive(NodeId id) {
  Collective& collective = collective_of(id);
  const bool is_new = collective.arrived.insert(id).second;
  check(is_new, "a member of a collective waits for the others before it comes again");
  const auto members = graph_.node(id).attributes.integer("members");
  if (static_cast<std::int64_t>(collective.arrived.size()) < members) return;
  collective.arrived.clear();

  if (graph_.node(id).op == Op::AllGather) return gather(collective);
  const std::vector<TensorType> bucket = bucket_of(graph_, graph_.node(id));
  for (std::size_t k = 0; k < bucket.size(); ++k) {
    check(bucket[k].element == ElementType::F32, "the interpreter reduces f32");
    std::vector<const float*> terms;
    for (const auto& [member, node] : collective.nodes) {
      terms.push_back(value(graph_.node(node).inputs[k]));
    }
    std::vector<float> sums;
    for (std::int64_t i = 0; i < bucket[k].elements(); ++i) {
      double sum = 0;
      for (const float* term : terms) sum += term[i];
      sums.push_back(static_cast<float>(sum));
    }
    for (const auto& [member, node] : collective.nodes) deliver(node, k, sums);
  }
}

/// Writes the sums of the bucket's tensor `k`, or a member's piece of them, to an output.
void Interpreter::deliver(NodeId id, std::size_t k, const std::vector<float>& sums) {
  const Node& node = graph_.node(id);
  if (node.op == Op::AllReduce) {
    std::copy(sums.begin(), sums.end(), value({id, static_cast<int>(k)}));
    return;
  }
  const std::vector<Piece> own = pieces_of(id);
  for (std::size_t p = 0; p < own.size(); ++p) {
    if (own[p].tensor != k) continue;
    std::copy_n(sums.begin() + own[p].elements.begin, own[p].elements.size(),
                value({id, static_cast<int>(p)}));
  }
}

void Interpreter::gather(const Collective& collective) {
  for (const auto& [from, source] : collective.nodes) {
    const std::vector<Piece> own = pieces_of(source);
    for (std::size_t p = 0; p < own.size(); ++p) {
      for (const auto& [to, node] : collective.nodes) {
        std::copy_n(value(graph_.node(source).inputs[p]), own[p].elements.size(),
                    value({node, static_cast<int>(own[p].tensor)}) + own[p].elements.begin);
      }
    }
  }
}

std::vector<Piece> Interpreter::pieces_of(NodeId id) const {
  const Node& node = graph_.node(id);
  return pieces(bucket_of(graph_, node), node.attributes.integer("members"), node.member);
}

/// The variables that order `id` among other nodes: its own and those that its inputs are views of.
std::set<VariableId> Interpreter::ordered_variables(NodeId id) const {
  const Node& node = graph_.node(id);
  std::set<VariableId> used(node.variables.begin(), node.variables.end());
  for (Value input : node.inputs) used.insert(viewed_[static_cast<std::size_t>(input.node)]);
  used.erase(-1);
  std::erase_if(used, [&](VariableId v) { return graph_.variable(v).sharing != Sharing::None; });
  return used;
}

void Interpreter::run_pending(NodeId id, const StepContext& context, std::vector<State>& states) {
  run_node(id, context);
  states[static_cast<std::size_t>(id)] = State::Done;
  if (!is_collective(graph_.node(id).op)) return;
  const Collective& collective = collective_of(id);
  const State state = collective.arrived.empty() ? State::Done : State::Arrived;
  states[static_cast<std::size_t>(id)] = state;
  if (state == State::Arrived) return;
  for (const auto& [member, node] : collective.nodes) {
    states[static_cast<std::size_t>(node)] = State::Done;
  }
}

void Interpreter::run(std::span<const NodeId> nodes, const StepContext& context) {
  std::vector<State> states(graph_.nodes().size(), State::Done);
  const auto state = [&](NodeId id) -> State& { return states.at(static_cast<std::size_t>(id)); };
  for (NodeId id : nodes) state(id) = State::Pending;
  const auto all_done = [&] {
    return std::all_of(states.begin(), states.end(), [](State s) { return s == State::Done; });
  };

  while (!all_done()) {
    std::set<VariableId> held;  // used by a deferred node; their order must stay
    bool progressed = false;
    for (NodeId id : nodes) {
      if (state(id) == State::Done) continue;
      const std::set<VariableId> used = ordered_variables(id);
      const auto& inputs = graph_.node(id).inputs;
      const bool ready =
          state(id) == State::Pending &&
          std::all_of(inputs.begin(), inputs.end(),
                      [&](Value input) { return state(input.node) == State::Done; }) &&
          std::none_of(used.begin(), used.end(), [&](VariableId v) { return held.contains(v); });
      if (ready) {
        run_pending(id, context, states);
        progressed = true;
      }
      if (state(id) != State::Done) held.insert(used.begin(), used.end());
    }
    check(progressed, "a step cannot go on: members of a collective are missing");
  }
}

void Interpreter::run_all(const StepContext& context) {
  std::vector<NodeId> nodes(graph_.nodes().size());
  std::iota(nodes.begin(), nodes.end(), 0);
  run(nodes, context);
}

}  // namespace regatta::reference
