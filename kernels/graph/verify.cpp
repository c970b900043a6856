// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/verify.h"

#include <algorithm>
#include <map>
#include <set>

#include "kernels/base/error.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/period.h"

namespace regatta {
namespace {

std::string at_node(const Graph& graph, NodeId id, const std::string& rule) {
  return "node %" + std::to_string(id) + " (" + std::string(to_string(graph.node(id).op)) +
         "): " + rule;
}

std::string broken_node_rule(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Period period = period_of(node);
  if (period.every < 1) return "its period is less than a step";
  if (period.draw && (period.draw->peer < 0 || period.draw->peer >= period.draw->peers)) {
    return "it has the steps of a peer that is not drawn";
  }
  if (period.lag <= -period.every) return "its period begins before the first step";
  if (is_collective(node.op) || node.op == Op::Quorum) {
    const bool is_one = node.member >= 0 && node.member < node.attributes.integer("members");
    if (!is_one) return "it has the number of no member";
  }
  std::vector<TensorType> inputs;
  for (Value input : node.inputs) {
    if (input.node < 0 || input.node >= id) return "an input does not come from an earlier node";
    const auto outputs = static_cast<int>(graph.node(input.node).outputs.size());
    if (input.output < 0 || input.output >= outputs) {
      return "an input names an output that its node does not have";
    }
    const Period maker = period_of(graph.node(input.node));
    if (maker != Period{} && maker != period_of(node)) {
      return "it reads a value that is not made in all of its steps";
    }
    inputs.push_back(graph.type(input));
  }
  std::vector<TensorType> variables;
  for (VariableId v : node.variables) {
    if (v < 0 || v >= static_cast<VariableId>(graph.variables().size())) {
      return "it names a variable that does not exist";
    }
    variables.push_back(graph.variable(v).type);
    const bool own = graph.variable(v).place == node.place;
    if (!own && graph.variable(v).sharing == Sharing::None) {
      return "it uses variable " + graph.variable(v).name +
             " of another place, which is not shared";
    }
  }
  if (op_info(node.op).infer({inputs, variables, node.attributes, node.member}) != node.outputs) {
    return "its output types are not what its inputs imply";
  }
  return "";
}

/// The members of one collective, by member index.
using Members = std::map<std::int64_t, Node>;

std::string broken_collective_rule(const Graph& graph, const Members& members) {
  const Node& first = members.begin()->second;
  std::set<Place> places;
  for (const auto& [index, node] : members) {
    if (node.op != first.op ||
        node.attributes.integer("members") != first.attributes.integer("members") ||
        node.attributes.text("algorithm") != first.attributes.text("algorithm") ||
        alike_members(node) != alike_members(first) || period_of(node) != period_of(first) ||
        bucket_of(graph, node) != bucket_of(graph, first)) {
      return "its members disagree in op, size, algorithm, steps or types";
    }
    if (node.op != Op::AllReduce && node.attributes.text("algorithm") != kRing) {
      return "it is not by a ring";
    }
    if (!places.insert(node.place).second) return "two of its members stand at one place";
  }
  const auto count =
      static_cast<std::size_t>(first.attributes.integer("members") / alike_members(first).places());
  const bool apart = first.attributes.has("processes");  // the other members may be in other
                                                         // processes
  return apart || members.size() == count ? "" : "not all of its members are there";
}

std::string broken_collectives(const Graph& graph) {
  std::map<std::int64_t, Members> groups;
  for (const Node& node : graph.nodes()) {
    if (!is_collective(node.op)) continue;
    const std::int64_t group = node.attributes.integer("group");
    if (!groups[group].emplace(node.member, node).second) {
      return "collective " + std::to_string(group) + ": a member is there twice";
    }
  }
  for (const auto& [group, members] : groups) {
    const std::string rule = broken_collective_rule(graph, members);
    if (!rule.empty()) return "collective " + std::to_string(group) + ": " + rule;
  }
  return "";
}

std::string broken_training_rule(const Step& step) {
  const Graph& graph = step.graph;
  for (Value loss : step.losses) {
    if (graph.type(loss) != TensorType{ElementType::F32, {}}) return "a loss is not a scalar";
  }
  for (const Trainable& trainable : step.trainables) {
    const Variable& variable = graph.variable(trainable.variable);
    if (!trainable.gradient.exists() || graph.type(trainable.gradient) != variable.type) {
      return "trainable " + variable.name + " has no gradient of its type";
    }
    const bool assigned =
        std::any_of(trainable.updates.begin(), trainable.updates.end(), [&](NodeId update) {
          const Node& node = graph.node(update);
          return op_info(node.op).assigns && !node.variables.empty() &&
                 node.variables[0] == trainable.variable;
        });
    if (!assigned) return "trainable " + variable.name + " is never assigned";
  }
  return "";
}

}  // namespace

std::string broken_rule(const Step& step) {
  for (NodeId id = 0; id < static_cast<NodeId>(step.graph.nodes().size()); ++id) {
    const std::string rule = broken_node_rule(step.graph, id);
    if (!rule.empty()) return at_node(step.graph, id, rule);
  }
  const std::string rule = broken_collectives(step.graph);
  return rule.empty() ? broken_training_rule(step) : rule;
}

void verify(const Step& step, const std::string& after) {
  const std::string rule = broken_rule(step);
  check(rule.empty(), "after " + after + ": " + rule);
}

}  // namespace regatta
