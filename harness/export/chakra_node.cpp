// SPDX-License-Identifier: Apache-2.0
#include "harness/export/chakra_node.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "harness/export/wire.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/collective.h"

namespace regatta::exports::chakra {
namespace {

constexpr std::string_view kSchema = "1.0.0";

// Field numbers from et_def.proto.
constexpr WireField kVersion{1};  // in GlobalMetadata
constexpr WireField kId{1}, kName{2}, kType{3}, kCtrlDeps{4}, kDataDeps{5}, kDurationMicros{7};
constexpr WireField kAttribute{10};  // in Node, like the line above
constexpr WireField kAttributeName{1}, kInt32{7}, kInt64{9}, kUint64{13}, kBool{27}, kString{29};
enum class NodeType : std::uint64_t { Compute = 4, Send = 5, Receive = 6, Collective = 7 };
enum class CommType : std::int64_t { AllReduce = 0, AllGather = 2, ReduceScatter = 7 };

NodeType type_of(const Node& node) {
  if (node.op == Op::Send) return NodeType::Send;
  if (node.op == Op::Receive) return NodeType::Receive;
  return is_collective(node.op) ? NodeType::Collective : NodeType::Compute;
}

CommType comm_type(Op op) {
  if (op == Op::ReduceScatter) return CommType::ReduceScatter;
  return op == Op::AllGather ? CommType::AllGather : CommType::AllReduce;
}

template <typename T>
void add_attribute(WireMessage& message, std::string_view name, WireField type, const T& value) {
  WireMessage attribute;
  attribute.add(kAttributeName, name);
  attribute.add(type, value);
  message.add(kAttribute, attribute);
}

void add_number(WireMessage& message, std::string_view name, WireField type, std::int64_t value) {
  add_attribute(message, name, type, static_cast<std::uint64_t>(value));
}

std::int64_t bytes_of_inputs(const Graph& graph, const Node& node) {
  std::int64_t bytes = 0;
  for (const Value input : node.inputs) bytes += graph.type(input).bytes();
  return bytes;
}

std::int64_t bytes_of_outputs(const Node& node) {
  std::int64_t bytes = 0;
  for (const TensorType& type : node.outputs) bytes += type.bytes();
  return bytes;
}

void describe_kernel(const Graph& graph, NodeId id, WireMessage& message) {
  const Node& node = graph.node(id);
  std::int64_t elements = 0;
  for (const TensorType& type : node.outputs) elements += type.elements();
  std::int64_t bytes = bytes_of_inputs(graph, node) + bytes_of_outputs(node);
  for (const VariableId v : node.variables) {
    if (node.outputs.empty()) elements += graph.variable(v).type.elements();
    bytes += graph.variable(v).type.bytes();
  }
  const std::int64_t products = multiply_adds(graph, id);
  add_number(message, "is_cpu_op", kBool, node.place.role == Role::Host ? 1 : 0);
  add_number(message, "num_ops", kInt64, products > 0 ? 2 * products : elements);
  add_number(message, "tensor_size", kUint64, bytes);
}

void describe_message(const Graph& graph, const Node& node, const NodeFacts& facts,
                      WireMessage& message) {
  const std::int64_t peer = node.attributes.integer("peer");
  const bool sends = node.op == Op::Send;
  add_number(message, "is_cpu_op", kBool, 0);
  add_number(message, "comm_src", kInt32, sends ? facts.process : peer);
  add_number(message, "comm_dst", kInt32, sends ? peer : facts.process);
  add_number(message, "comm_tag", kInt32, facts.first_tag + node.attributes.integer("message"));
  add_number(message, "comm_size", kInt64,
             sends ? bytes_of_inputs(graph, node) : bytes_of_outputs(node));
}

void describe_collective(const Graph& graph, const Node& node, std::size_t group,
                         WireMessage& message) {
  const CollectiveShape shape = collective_shape(graph, node);
  const std::int64_t elements =
      node.op == Op::AllGather ? share(shape.elements, shape.members, 0).size() : shape.elements;
  add_number(message, "is_cpu_op", kBool, 0);
  add_number(message, "comm_type", kInt64, static_cast<std::int64_t>(comm_type(node.op)));
  add_number(message, "comm_size", kInt64, elements * shape.element_bytes);
  add_attribute(message, "pg_name", kString, std::string_view(std::to_string(group)));
  add_attribute(message, "algorithm", kString, shape.algorithm);
}

}  // namespace

Groups::Groups(std::size_t processes) {
  std::vector<std::int64_t> all(processes);
  for (std::size_t p = 0; p < processes; ++p) all[p] = static_cast<std::int64_t>(p);
  numbers_[all] = 0;
}

std::size_t Groups::number(const std::vector<std::int64_t>& processes) {
  return numbers_.try_emplace(processes, numbers_.size()).first->second;
}

std::string Groups::to_json() const {
  nlohmann::json groups;
  for (const auto& [processes, number] : numbers_) {
    if (number > 0) groups[std::to_string(number)] = processes;
  }
  return groups.is_null() ? "" : groups.dump(1) + '\n';
}

std::string metadata_bytes() {
  WireMessage metadata;
  metadata.add(kVersion, kSchema);
  return metadata.delimited();
}

std::string node_bytes(const Graph& graph, NodeId id, const NodeFacts& facts, Groups& groups) {
  const Node& node = graph.node(id);
  const NodeType type = type_of(node);
  WireMessage message;
  message.add(kId, facts.id);
  message.add(kName,
              fmt::format("{}{}{}", to_string(node.op), node.layer.empty() ? "" : " ", node.layer));
  message.add(kType, static_cast<std::uint64_t>(type));
  message.add_packed(kCtrlDeps, facts.ctrl_deps);
  message.add_packed(kDataDeps, facts.data_deps);
  if (type == NodeType::Compute) {
    if (facts.duration_micros) {
      message.add(kDurationMicros, static_cast<std::uint64_t>(*facts.duration_micros));
    }
    describe_kernel(graph, id, message);
  } else if (type == NodeType::Collective) {
    const std::vector<std::int64_t> processes = node.attributes.has("processes")
                                                    ? node.attributes.integers("processes")
                                                    : std::vector{facts.process};
    describe_collective(graph, node, groups.number(processes), message);
  } else {
    describe_message(graph, node, facts, message);
  }
  return message.delimited();
}

}  // namespace regatta::exports::chakra
