// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/graph.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "kernels/base/error.h"

namespace regatta {

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
  if (place.shard != 0) text += ".shard" + std::to_string(place.shard);
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
  const TensorType& rows = part_of->rows.dims.empty() ? type : part_of->rows;
  std::int64_t before = 1;  // combinations of the dimensions before the one of the rows
  std::int64_t row = rows.elements() / rows.dim(part_of->along);
  for (std::size_t d = 0; d < part_of->along; ++d) {
    before *= rows.dim(d);
    row /= rows.dim(d);
  }
  const std::int64_t count = rows.dim(part_of->along) * row;
  std::vector<Stretch> all;
  for (std::int64_t b = 0; b < before; ++b) {
    const std::int64_t begin = std::max(b * count, part_of->first);
    const std::int64_t end = std::min((b + 1) * count, part_of->first + type.elements());
    if (begin >= end) continue;
    all.push_back({.in_part = begin - part_of->first,
                   .in_whole = (b * part_of->type.dim(part_of->along) + part_of->row) * row +
                               begin - b * count,
                   .count = end - begin});
  }
  return all;
}

NodeId Graph::add(Node node) {
  std::vector<TensorType> inputs;
  inputs.reserve(node.inputs.size());
  for (Value input : node.inputs) {
    check(input.node >= 0 && input.node < std::ssize(nodes_),
          "a node's inputs come from earlier nodes");
    inputs.push_back(type(input));
  }
  std::vector<TensorType> variables;
  variables.reserve(node.variables.size());
  for (VariableId id : node.variables) variables.push_back(variable(id).type);
  node.outputs = op_info(node.op).infer({inputs, variables, node.attributes, node.member});
  nodes_.push_back(std::move(node));
  return static_cast<NodeId>(nodes_.size()) - 1;
}

VariableId Graph::add(Variable variable) {
  variables_.push_back(std::move(variable));
  return static_cast<VariableId>(variables_.size()) - 1;
}

void Graph::copy_variables_of(const Graph& other) {
  check(variables_.empty(), "a graph takes another's variables before it has any");
  variables_ = other.variables_;
}

}  // namespace regatta
