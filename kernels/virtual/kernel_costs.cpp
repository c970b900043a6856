// SPDX-License-Identifier: Apache-2.0
#include "kernels/virtual/kernel_costs.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <variant>

#include "kernels/runtime/plan.h"
#include "kernels/runtime/worker_cores.h"

namespace regatta::virtual_time {
namespace {

/// Attributes on which the time of a kernel of given shapes depends.
constexpr std::array<std::string_view, 12> kTelling = {
    "activation", "algorithm", "columns", "count", "groups", "kernel",
    "nesterov",   "padding",   "pool",    "rows",  "stride", "window"};

void append(std::string& key, const TensorType& type) {
  key += ' ';
  for (std::size_t i = 0; i < type.rank(); ++i) {
    key += (i == 0 ? "" : "x") + std::to_string(type.dim(i));
  }
  key += to_string(type.element);
}

}  // namespace

std::string kernel_key(const Graph& graph, NodeId id, int threads) {
  const Node& node = graph.node(id);
  std::string key(to_string(node.op));
  for (const Value input : node.inputs) append(key, graph.type(input));
  // An average uses its own variable and one other, regardless of the number of peers.
  const std::size_t used = node.op == Op::Average ? 2 : node.variables.size();
  for (const VariableId v : std::span(node.variables).first(used)) {
    append(key, graph.variable(v).type);
    if (graph.variable(v).sharing != Sharing::None) {
      key += '/' + std::string(to_string(graph.variable(v).sharing));
    }
  }
  key += " ->";
  for (const TensorType& type : node.outputs) append(key, type);
  for (const auto& [name, value] : node.attributes.values()) {
    if (std::find(kTelling.begin(), kTelling.end(), name) == kTelling.end()) continue;
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      key += ' ' + name + '=' + std::to_string(*number);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      key += ' ' + name + '=' + *text;
    }
  }
  return key + ' ' + std::to_string(threads_at(node.place, threads)) + 't';
}

int lane_threads(const Graph& part, int threads_per_worker) {
  const auto& nodes = part.nodes();
  const bool has_workers = std::any_of(
      nodes.begin(), nodes.end(), [](const Node& node) { return node.place.role == Role::Worker; });
  return has_workers ? threads_per_worker : 1;
}

bool computes(const Graph& graph, const Node& node) {
  return !is_view(graph, node) && !op_info(node.op).crosses;
}

}  // namespace regatta::virtual_time
