// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/text.h"

#include <cstdio>
#include <vector>

#include "kernels/base/random.h"
#include "kernels/graph/collective.h"

namespace regatta {
namespace {

std::string value_text(Value value) {
  std::string text = "%" + std::to_string(value.node);
  if (value.output != 0) text += '.' + std::to_string(value.output);
  return text;
}

/// A hash of the values, so that graphs with different values differ in text and hash.
std::string hash_of(const std::vector<float>& values) {
  char text[17];
  const std::uint64_t hash = fnv1a(values.data(), values.size() * sizeof(float));
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

std::string initializer_text(const Initializer& initializer) {
  if (!initializer.source.empty()) return "copy_of(" + initializer.source + ")";
  char scale[32];
  std::snprintf(scale, sizeof scale, "(%.6g)", initializer.scale);
  switch (initializer.kind) {
    case Initializer::Kind::Zeros: return "zeros";
    case Initializer::Kind::Ones: return "ones";
    case Initializer::Kind::Normal: return std::string("normal") + scale;
    case Initializer::Kind::Uniform: return std::string("uniform") + scale;
    case Initializer::Kind::Dirac: return std::string("dirac") + scale;
    case Initializer::Kind::Given: return "given(" + hash_of(initializer.values) + ")";
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

std::string judged_text(Judged judged) {
  switch (judged) {
    case Judged::First: return "first";
    case Judged::Mean: return "mean";
    case Judged::Never: return "never";
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
  Attributes attributes = node.attributes;
  if (is_collective(node.op) || node.op == Op::Quorum) attributes.set("member", node.member);
  if (!attributes.values().empty()) text += " {" + to_string(attributes) + '}';
  for (const TensorType& type : node.outputs) text += ' ' + to_string(type);
  text += " @" + to_string(node.place) + ' ' + std::string(to_string(node.phase));
  if (!node.layer.empty()) text += ' ' + node.layer;
  return text;
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
    if (variable.judged) text += " judged " + judged_text(*variable.judged);
    if (!variable.judged_as.empty()) text += " judged as " + variable.judged_as;
    if (variable.part_of) {
      text += " rows " + std::to_string(variable.part_of->row) + " on of " +
              variable.part_of->name + ' ' + to_string(variable.part_of->type);
      if (variable.part_of->along != 0) {
        text += " along dimension " + std::to_string(variable.part_of->along);
      }
      if (!variable.part_of->rows.dims.empty()) {
        text += " from element " + std::to_string(variable.part_of->first) + " of " +
                to_string(variable.part_of->rows);
      }
    }
    text += '\n';
  }
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    text += node_text(graph, id) + '\n';
  }
  return text;
}

std::uint64_t hash(const Graph& graph) { return fnv1a(to_text(graph)); }

}  // namespace regatta
