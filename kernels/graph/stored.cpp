// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/stored.h"

#include <bit>
#include <functional>
#include <utility>
#include <variant>

#include "kernels/graph/error.h"
#include "kernels/graph/pool.h"

namespace regatta {
namespace {

/// Source: boost::hash_combine.
template <typename T>
void combine(std::size_t& hash, const T& value) {
  hash ^= std::hash<T>()(value) + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
}

/// Zeros of both signs are equal, but not interchangeable.
void combine(std::size_t& hash, double value) {
  combine(hash, std::bit_cast<std::uint64_t>(value));
}

template <typename T>
void combine(std::size_t& hash, const std::vector<T>& values) {
  for (const T& value : values) combine(hash, value);
}

void combine_attributes(std::size_t& hash, const Attributes& attributes) {
  for (const auto& [name, value] : attributes.values()) {
    combine(hash, name);
    std::visit([&](const auto& each) { combine(hash, each); }, value);
  }
}

std::size_t hash_of_node(const NodeBody& body) {
  std::size_t hash = 0;
  combine(hash, static_cast<int>(body.op));
  combine(hash, body.layer);
  combine_attributes(hash, body.attributes);
  for (const NodeBody::Input& input : body.inputs) {
    combine(hash, input.value.node);
    combine(hash, input.value.output);
  }
  combine(hash, body.variables);
  return hash;
}

std::size_t hash_of_variable(const Variable& variable) {
  std::size_t hash = 0;
  combine(hash, variable.name);
  combine(hash, variable.type.dims);
  combine(hash, static_cast<int>(variable.kind));
  combine(hash, variable.initializer->scale);
  for (const float value : variable.initializer->values) combine(hash, double{value});
  return hash;
}

/// Whether the node has a message number, so that no two of its op are equal.
bool is_of_message(Op op) { return op == Op::Send || op == Op::Sent || op == Op::Receive; }

Pool<NodeBody, hash_of_node>& node_pool() {
  static Pool<NodeBody, hash_of_node> pool;
  return pool;
}

Pool<Variable, hash_of_variable>& variable_pool() {
  static Pool<Variable, hash_of_variable> pool;
  return pool;
}

}  // namespace

StoredNode store(Node node, std::span<const StoredNode> earlier) {
  const auto place_of = [earlier](NodeId id) -> const Place& {
    return earlier[static_cast<std::size_t>(id)].place;
  };
  StoredNode stored{.body = nullptr, .place = node.place};
  stored.member = static_cast<std::int32_t>(node.member);
  check(stored.member == node.member, "a collective has fewer than 2^31 members");
  NodeBody body{.op = node.op,
                .phase = node.phase,
                .attributes = std::move(node.attributes),
                .outputs = std::move(node.outputs),
                .layer = std::move(node.layer),
                .inputs = {},
                .variables = {}};
  if (!node.inputs.empty()) {
    stored.first_input = node.inputs.front().node;
    const Place& origin = place_of(stored.first_input);
    body.inputs.reserve(node.inputs.size());
    for (Value value : node.inputs) {
      const bool is_counted = place_of(value.node) == origin;
      if (is_counted) value.node -= stored.first_input;
      body.inputs.push_back({.value = value, .is_counted = is_counted});
    }
  }
  if (!node.variables.empty()) {
    stored.first_variable = node.variables.front();
    body.variables.reserve(node.variables.size());
    for (const VariableId v : node.variables) body.variables.push_back(v - stored.first_variable);
  }
  stored.body = is_of_message(node.op) ? std::make_shared<const NodeBody>(std::move(body))
                                       : node_pool().hold(std::move(body));
  return stored;
}

Node node_of(const StoredNode& stored) {
  const NodeBody& body = *stored.body;
  Node node{.op = body.op,
            .attributes = body.attributes,
            .inputs = {},
            .variables = {},
            .outputs = body.outputs,
            .place = stored.place,
            .member = stored.member,
            .phase = body.phase,
            .layer = body.layer};
  for (const NodeBody::Input& input : body.inputs) {
    const NodeId from = input.is_counted ? stored.first_input : 0;
    node.inputs.push_back({.node = from + input.value.node, .output = input.value.output});
  }
  for (const VariableId v : body.variables) node.variables.push_back(stored.first_variable + v);
  return node;
}

StoredVariable store(Variable variable) {
  const Place place = std::exchange(variable.place, Place{});
  return {.body = variable_pool().hold(std::move(variable)), .place = place};
}

Variable variable_of(const StoredVariable& stored) {
  Variable variable = *stored.body;
  variable.place = stored.place;
  return variable;
}

}  // namespace regatta
