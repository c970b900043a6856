// SPDX-License-Identifier: Apache-2.0
#include "kernels/distribute/sends_under_way.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "kernels/distribute/messages.h"

namespace regatta {
namespace {

/// The variable that a value is a view of; -1 if it is no view of one.
VariableId variable_behind(const Graph& graph, Value value) {
  for (;;) {
    const Node& node = graph.node(value.node);
    if (!op_info(node.op).view) return -1;
    if (node.op == Op::Read) return node.variables[0];
    value = node.inputs[0];
  }
}

}  // namespace

void SendsUnderWay::begin(Value value, std::int64_t message, const Period& period) {
  all_[variable_behind(graph_, value)][{value, period}].push_back(message);
}

std::vector<SendsToEnd> SendsUnderWay::end_before(const Node& node) {
  std::vector<SendsToEnd> ended;
  if (!op_info(node.op).assigns) return ended;
  for (VariableId v : node.variables) {
    const auto found = all_.find(v);
    if (found == all_.end()) continue;
    for (auto& [sent, messages] : found->second) {
      std::sort(messages.begin(), messages.end());
      ended.push_back(
          {.values = {sent.first}, .messages = std::move(messages), .period = sent.second});
    }
    all_.erase(found);
  }
  return ended;
}

void SendsUnderWay::received(Value value, std::int64_t message, const Period& period) {
  if (graph_.type(value).bytes() < kInlineBytes || variable_behind(graph_, value) >= 0) return;
  received_[graph_.node(value.node).place].push_back(
      {.values = {value}, .messages = {message}, .period = period});
}

std::vector<SendsToEnd> SendsUnderWay::end_received(const Place& place) {
  std::vector<SendsToEnd> ended = std::exchange(received_[place], {});
  for (const SendsToEnd& end : ended) {
    const auto sent = all_.at(-1).find({end.values.front(), end.period});
    std::erase(sent->second, end.messages.front());
    if (sent->second.empty()) all_.at(-1).erase(sent);
  }
  return ended;
}

std::vector<SendsToEnd> SendsUnderWay::end_all(const std::vector<int>& loop_of) {
  std::map<std::tuple<int, Place, Period>, SendsToEnd> together;
  for (const auto& [variable, sends] : all_) {
    for (const auto& [sent, messages] : sends) {
      const auto& [value, period] = sent;
      const auto node = static_cast<std::size_t>(value.node);
      SendsToEnd& end = together[{loop_of[node], graph_.node(value.node).place, period}];
      end.values.push_back(value);
      end.period = period;
      end.messages.insert(end.messages.end(), messages.begin(), messages.end());
    }
  }
  all_.clear();
  std::vector<SendsToEnd> ended;
  received_.clear();
  for (auto& [key, end] : together) {
    std::sort(end.messages.begin(), end.messages.end());
    ended.push_back(std::move(end));
  }
  return ended;
}

}  // namespace regatta
