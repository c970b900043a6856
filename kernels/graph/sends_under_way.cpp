// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/sends_under_way.h"

#include <algorithm>
#include <utility>

namespace regatta {
namespace {

/// The variable that a value is a view of; -1: it is none.
VariableId variable_behind(const Graph& graph, Value value) {
  for (;;) {
    const Node& node = graph.node(value.node);
    if (!op_info(node.op).view) return -1;
    if (node.op == Op::Read) return node.variables[0];
    value = node.inputs[0];
  }
}

}  // namespace

void SendsUnderWay::begin(Value value, std::int64_t message) {
  all_[variable_behind(graph_, value)][value].push_back(message);
}

std::vector<SendsToEnd> SendsUnderWay::end_before(const Node& node) {
  std::vector<SendsToEnd> ended;
  if (!op_info(node.op).assigns) return ended;
  for (VariableId v : node.variables) {
    const auto found = all_.find(v);
    if (found == all_.end()) continue;
    for (auto& [value, messages] : found->second) {
      std::sort(messages.begin(), messages.end());
      ended.push_back({.values = {value}, .messages = std::move(messages)});
    }
    all_.erase(found);
  }
  return ended;
}

std::vector<SendsToEnd> SendsUnderWay::end_all(const std::vector<int>& loop_of) {
  std::map<std::pair<int, Place>, SendsToEnd> together;
  for (const auto& [variable, sends] : all_) {
    for (const auto& [value, messages] : sends) {
      const auto node = static_cast<std::size_t>(value.node);
      SendsToEnd& end = together[{loop_of[node], graph_.node(value.node).place}];
      end.values.push_back(value);
      end.messages.insert(end.messages.end(), messages.begin(), messages.end());
    }
  }
  all_.clear();
  std::vector<SendsToEnd> ended;
  for (auto& [key, end] : together) {
    std::sort(end.messages.begin(), end.messages.end());
    ended.push_back(std::move(end));
  }
  return ended;
}

}  // namespace regatta
