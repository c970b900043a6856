// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/graph.h"

#include <algorithm>
#include <map>
#include <utility>

#include "kernels/graph/error.h"

namespace regatta {
namespace {

constexpr std::size_t kMostCompared = 64;  ///< layers with an op, of one replica

}  // namespace

std::string to_string(const Place& place) {
  if (place.role == Role::Host) return "host";
  if (place.role == Role::Server) {
    return "server" + std::to_string(place.stage) +
           (place.replica == 0 ? "" : ".replica" + std::to_string(place.replica));
  }
  if (place.role == Role::Peer) {
    return "peer" + std::to_string(place.stage) + ".replica" + std::to_string(place.replica);
  }
  std::string text = "replica" + std::to_string(place.replica);
  if (place.stage != 0) text += ".stage" + std::to_string(place.stage);
  return text;
}

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::Input: return "input";
    case Phase::Forward: return "forward";
    case Phase::Backward: return "backward";
    case Phase::Communication: return "communication";
    case Phase::Update: return "update";
  }
  return "unknown";
}

std::string_view to_string(Sharing sharing) {
  switch (sharing) {
    case Sharing::None: return "none";
    case Sharing::Relaxed: return "relaxed";
    case Sharing::Locked: return "locked";
    case Sharing::Quorum: return "quorum";
  }
  return "unknown";
}

std::vector<Stretch> Variable::stretches() const {
  if (!part_of) return {{.in_part = 0, .in_whole = 0, .count = type.elements()}};
  std::int64_t before = 1;  // combinations of the dimensions before that of the rows
  std::int64_t row = type.elements() / type.dim(part_of->along);
  for (std::size_t d = 0; d < part_of->along; ++d) {
    before *= type.dim(d);
    row /= type.dim(d);
  }
  std::vector<Stretch> all;
  for (std::int64_t b = 0; b < before; ++b) {
    all.push_back({.in_part = b * type.dim(part_of->along) * row,
                   .in_whole = (b * part_of->type.dim(part_of->along) + part_of->row) * row,
                   .count = type.dim(part_of->along) * row});
  }
  return all;
}

NodeId Graph::add(Node node) {
  std::vector<TensorType> inputs;
  inputs.reserve(node.inputs.size());
  for (Value input : node.inputs) {
    check(input.node >= 0 && input.node < static_cast<NodeId>(nodes_->size()),
          "a node's inputs come from earlier nodes");
    inputs.push_back(type(input));
  }
  std::vector<TensorType> variables;
  variables.reserve(node.variables.size());
  for (VariableId id : node.variables) variables.push_back(variable(id).type);
  set_outputs(node, op_info(node.op).infer({inputs, variables, node.attributes}));
  own(nodes_).push_back(std::move(node));
  return static_cast<NodeId>(nodes_->size()) - 1;
}

/// Equal lists are held once: a copy of a node keeps its own, others take their first input's.
void Graph::set_outputs(Node& node, std::vector<TensorType> types) const {
  if (node.outputs.all() == types) return;
  if (!node.inputs.empty()) node.outputs = this->node(node.inputs.front().node).outputs;
  if (node.outputs.all() != types) node.outputs = std::move(types);
}

void Graph::share_variables_of(const Graph& other) {
  check(variables_->empty(), "a graph takes another's variables before it has any");
  variables_ = other.variables_;
}

void Graph::share_attributes() {
  std::map<Op, std::vector<Attributes>> known;  // different ones, the last added first
  std::vector<std::pair<std::size_t, Attributes>> changes;
  for (std::size_t n = 0; n < nodes_->size(); ++n) {
    const Node& node = (*nodes_)[n];
    std::vector<Attributes>& others = known[node.op];
    const auto found = std::find(others.begin(), others.end(), node.attributes);
    if (found == others.end()) {
      if (others.size() == kMostCompared) others.pop_back();
      others.insert(others.begin(), node.attributes);
    } else if (&found->values() != &node.attributes.values()) {
      changes.emplace_back(n, *found);
    }
  }
  if (changes.empty()) return;
  std::vector<Node>& nodes = own(nodes_);
  for (auto& [n, attributes] : changes) nodes[n].attributes = std::move(attributes);
}

VariableId Graph::share_variable(const Graph& other, VariableId id) {
  own(variables_).share(*other.variables_, static_cast<std::size_t>(id));
  return static_cast<VariableId>(variables_->size()) - 1;
}

VariableId Graph::add(Variable variable) {
  own(variables_).push_back(std::move(variable));
  return static_cast<VariableId>(variables_->size()) - 1;
}

}  // namespace regatta
