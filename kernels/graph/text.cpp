// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/text.h"

#include <cstdio>
#include <map>
#include <vector>

#include "kernels/graph/random.h"

namespace regatta {
namespace {

std::string value_text(Value value) {
  std::string text = "%" + std::to_string(value.node);
  if (value.output != 0) text += '.' + std::to_string(value.output);
  return text;
}

/// So that the text, and a graph's hash with it, tells different values apart.
std::string hash_of(const std::vector<float>& values) {
  char text[17];
  const std::uint64_t hash = fnv1a(values.data(), values.size() * sizeof(float));
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

std::string initializer_text(const Initializer& initializer) {
  char scale[32];
  std::snprintf(scale, sizeof scale, "(%.6g)", initializer.scale);
  switch (initializer.kind) {
    case Initializer::Kind::Zeros: return "zeros";
    case Initializer::Kind::Ones: return "ones";
    case Initializer::Kind::Normal: return std::string("normal") + scale;
    case Initializer::Kind::Uniform: return std::string("uniform") + scale;
    case Initializer::Kind::Dirac: return std::string("dirac") + scale;
    case Initializer::Kind::Given: return "given(" + hash_of(initializer.values) + ")";
    case Initializer::Kind::CopyOf: return "copy_of(" + initializer.source + ")";
  }
  return "unknown";
}

std::string kind_text(VariableKind kind) {
  switch (kind) {
    case VariableKind::Parameter: return "parameter";
    case VariableKind::Slot: return "slot";
    case VariableKind::Statistic: return "statistic";
  }
  return "unknown";
}

template <typename Range, typename Function>
std::string joined(const Range& range, Function text_of) {
  std::string text;
  for (const auto& element : range) text += (text.empty() ? "" : ", ") + text_of(element);
  return text;
}

std::string node_text(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::string text = "%" + std::to_string(id) + " = " + std::string(to_string(node.op)) + '(';
  text += joined(node.inputs, value_text);
  if (!node.variables.empty()) {
    text += node.inputs.empty() ? "" : "; ";
    text += joined(node.variables, [&](VariableId v) { return graph.variable(v).name; });
  }
  text += ')';
  if (!node.attributes.values().empty()) text += " {" + to_string(node.attributes) + '}';
  for (const TensorType& type : node.outputs) text += ' ' + to_string(type);
  text += " @" + to_string(node.place) + ' ' + std::string(to_string(node.phase));
  if (!node.layer.empty()) text += ' ' + node.layer;
  return text;
}

std::string dot_id(const Place& place) {
  std::string id = to_string(place);
  for (char& c : id) c = c == '.' ? '_' : c;
  return id;
}

const char* dot_color(Phase phase) {
  switch (phase) {
    case Phase::Input: return "#dddddd";
    case Phase::Forward: return "#cfe2f3";
    case Phase::Backward: return "#fce5cd";
    case Phase::Communication: return "#f4cccc";
    case Phase::Update: return "#d9ead3";
  }
  return "white";
}

/// Members of a collective exchange in both directions and stand side by side.
std::string collective_edge(NodeId from, NodeId to) {
  return "  n" + std::to_string(from) + " -> n" + std::to_string(to) +
         " [dir=both, style=bold, color=\"#cc0000\", constraint=false];\n";
}

}  // namespace

std::string to_text(const Graph& graph) {
  std::string text;
  for (const Variable& variable : graph.variables()) {
    text += "variable " + variable.name + ' ' + to_string(variable.type) + ' ' +
            kind_text(variable.kind) + ' ' + initializer_text(variable.initializer) + " @" +
            to_string(variable.place);
    if (variable.sharing != Sharing::None) {
      text += " shared " + std::string(to_string(variable.sharing));
    }
    if (variable.part_of) {
      text += " rows " + std::to_string(variable.part_of->row) + " on of " +
              variable.part_of->name + ' ' + to_string(variable.part_of->type);
    }
    text += '\n';
  }
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    text += node_text(graph, id) + '\n';
  }
  return text;
}

std::string to_dot(const Graph& graph) {
  std::map<Place, std::string> clusters;
  std::map<std::int64_t, NodeId> last_member;  // by group
  std::string edges;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    std::string label(to_string(node.op));
    if (!node.variables.empty()) label += "\\n" + graph.variable(node.variables[0]).name;
    if (!node.outputs.empty()) label += "\\n" + to_string(node.outputs[0]);
    clusters[node.place] += "    n" + std::to_string(id) + " [label=\"" + label +
                            "\", fillcolor=\"" + dot_color(node.phase) + "\"];\n";
    if (node.op == Op::AllReduce) {
      const auto [member, is_first] = last_member.try_emplace(node.attributes.integer("group"), id);
      if (!is_first) edges += collective_edge(member->second, id);
      member->second = id;
    }
    for (Value input : node.inputs) {
      const bool crosses = graph.node(input.node).place != node.place;
      edges += "  n" + std::to_string(input.node) + " -> n" + std::to_string(id) +
               (crosses ? " [style=bold, color=\"#cc0000\"]" : "") + ";\n";
    }
  }
  std::string text =
      "digraph step {\n  rankdir=TB;\n"
      "  node [shape=box, style=filled, fontname=Helvetica, fontsize=10];\n";
  for (const auto& [place, nodes] : clusters) {
    text += "  subgraph cluster_" + dot_id(place) + " {\n    label=\"" + to_string(place) +
            "\";\n    fontname=Helvetica;\n" + nodes + "  }\n";
  }
  return text + edges + "}\n";
}

std::uint64_t hash(const Graph& graph) { return fnv1a(to_text(graph)); }

}  // namespace regatta
