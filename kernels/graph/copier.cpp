// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/copier.h"

#include "kernels/base/error.h"

namespace regatta {

Copier::Copier(const Graph& source)
    : source_(source),
      variables_(source.variables().size(), -1),
      copies_(source.nodes().size(), -1) {
  std::size_t outputs = 0;
  first_.reserve(source.nodes().size());
  for (NodeId id = 0; id < std::ssize(source.nodes()); ++id) {
    first_.push_back(outputs);
    outputs += source.node(id).outputs.size();
  }
  values_.resize(outputs);
}

std::size_t Copier::slot(Value from) const {
  const std::size_t outputs = source_.node(from.node).outputs.size();
  check(static_cast<std::size_t>(from.output) < outputs, "a value is one of its node's outputs");
  return first_.at(static_cast<std::size_t>(from.node)) + static_cast<std::size_t>(from.output);
}

bool Copier::knows(Value from) const {
  const std::size_t outputs = source_.node(from.node).outputs.size();
  return static_cast<std::size_t>(from.output) < outputs && values_[slot(from)].exists();
}

Value Copier::value(Value from) const {
  check(knows(from), "a rewrite uses a value that it has not copied");
  return values_[slot(from)];
}

VariableId Copier::variable(VariableId from) const {
  const VariableId to = variables_.at(static_cast<std::size_t>(from));
  check(to >= 0, "a rewrite uses a variable that it has not copied");
  return to;
}

Node Copier::translate(NodeId id) const {
  Node node = source_.node(id);
  for (Value& input : node.inputs) input = value(input);
  for (VariableId& used : node.variables) used = variable(used);
  return node;
}

NodeId Copier::copy(NodeId id, Graph& target) {
  const NodeId copied = target.add(translate(id));
  map_outputs(id, copied);
  copies_.at(static_cast<std::size_t>(id)) = copied;
  return copied;
}

void Copier::copy_variables(Graph& target) {
  target.copy_variables_of(source_);
  for (VariableId v = 0; v < static_cast<VariableId>(source_.variables().size()); ++v) {
    map_variable(v, v);
  }
}

void Copier::rename(Step& step) const {
  for (Trainable& trainable : step.trainables) {
    trainable.variable = variable(trainable.variable);
    trainable.gradient = value(trainable.gradient);
    for (NodeId& update : trainable.updates) {
      update = copies_.at(static_cast<std::size_t>(update));
      check(update >= 0, "a rewrite copies the updates");
    }
  }
  for (Value& loss : step.losses) loss = value(loss);
}

void Copier::map_outputs(NodeId from, NodeId to) {
  for (int i = 0; i < static_cast<int>(source_.node(from).outputs.size()); ++i) {
    map({from, i}, {to, i});
  }
}

}  // namespace regatta
