// SPDX-License-Identifier: Apache-2.0
#include "kernels/distribute/messages.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace regatta {
namespace {

/// Whether the value is a server's variable or a cast of one.
bool is_pull(const Graph& graph, Value value) {
  const Node& node = graph.node(value.node);
  const bool cast = node.op == Op::Cast && graph.node(node.inputs[0].node).place == node.place;
  const Node& source = cast ? graph.node(node.inputs[0].node) : node;
  return source.op == Op::Read && node.place.role == Role::Server;
}

/// A message to which more values may be added.
struct Open {
  std::size_t message = 0;
  std::int64_t bytes = 0;
};

}  // namespace

std::vector<Message> messages(const Graph& graph, const Binding& binding) {
  std::vector<Message> all;
  std::set<std::pair<Value, Place>> known;
  const auto periods = periods_of_travel(graph);
  // Keyed by the two places, whether it is a pull, and the steps in which it travels.
  std::map<std::tuple<Place, Place, bool, Period>, Open> open;
  for (const Node& node : graph.nodes()) {
    for (Value input : node.inputs) {
      const Place& from = graph.node(input.node).place;
      if (binding.process_of(from) == binding.process_of(node.place)) continue;
      if (!known.insert({input, node.place}).second) continue;
      const bool pull = is_pull(graph, input);
      const Period& period = periods.at({input, node.place});
      const std::tuple key{from, node.place, pull, period};
      const auto found = open.find(key);
      const bool together = pull || node.place.role == Role::Server;
      if (!together || found == open.end() || found->second.bytes >= binding.message_bytes) {
        all.push_back({.from = from, .to = node.place, .values = {}, .period = period});
        open[key] = {.message = all.size() - 1, .bytes = 0};
      }
      Open& taking = open[key];
      all[taking.message].values.push_back(input);
      taking.bytes += graph.type(input).bytes();
    }
  }
  return all;
}

}  // namespace regatta
