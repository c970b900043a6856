// SPDX-License-Identifier: Apache-2.0
#include "kernels/distribute/loops.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "kernels/graph/collective.h"

namespace regatta {
namespace {

/// Union-find with path halving.
class Components {
 public:
  explicit Components(std::size_t count) : parents_(count) {
    std::iota(parents_.begin(), parents_.end(), 0);
  }
  int root(int index) {
    while (parent(index) != index) index = parent(index) = parent(parent(index));
    return index;
  }
  void join(int a, int b) { parent(root(a)) = root(b); }
  /// The component of each element, numbered from 0 in order of first appearance.
  std::vector<int> numbers() {
    std::vector<int> result;
    std::map<int, int> numbers;
    for (int index = 0; index < std::ssize(parents_); ++index) {
      result.push_back(
          numbers.try_emplace(root(index), static_cast<int>(numbers.size())).first->second);
    }
    return result;
  }

 private:
  int& parent(int index) { return parents_[static_cast<std::size_t>(index)]; }
  std::vector<int> parents_;
};

}  // namespace

std::vector<int> loops(const Graph& graph) {
  const auto count = static_cast<NodeId>(graph.nodes().size());
  Components components(graph.nodes().size());
  std::map<std::int64_t, NodeId> group_member;
  std::map<std::pair<VariableId, Place>, NodeId> variable_user;
  for (NodeId id = 0; id < count; ++id) {
    const Node& node = graph.node(id);
    for (Value input : node.inputs) components.join(id, input.node);
    if (is_collective(node.op)) {
      components.join(id,
                      group_member.try_emplace(node.attributes.integer("group"), id).first->second);
    }
    for (VariableId v : node.variables) {
      components.join(id, variable_user.try_emplace({v, node.place}, id).first->second);
    }
  }
  return components.numbers();
}

std::vector<int> models(const Graph& graph) {
  const std::vector<int> loop_of = loops(graph);
  const int count = loop_of.empty() ? 0 : 1 + *std::max_element(loop_of.begin(), loop_of.end());
  Components components(static_cast<std::size_t>(count));
  std::map<VariableId, int> user;  // loop of the first node that uses it
  for (std::size_t id = 0; id < loop_of.size(); ++id) {
    for (VariableId v : graph.nodes()[id].variables) {
      components.join(loop_of[id], user.try_emplace(v, loop_of[id]).first->second);
    }
  }
  return components.numbers();
}

bool loops_step_apart(const Graph& graph) {
  return std::any_of(graph.variables().begin(), graph.variables().end(), [](const Variable& each) {
    return each.sharing == Sharing::Relaxed || each.sharing == Sharing::Locked;
  });
}

}  // namespace regatta
