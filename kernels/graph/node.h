// SPDX-License-Identifier: Apache-2.0
//
// A node of a step's graph (graph.h): an op with its inputs, at a place.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/graph/attributes.h"
#include "kernels/graph/op.h"
#include "kernels/graph/tensor_type.h"

namespace regatta {

enum class Role : std::uint8_t { Worker, Host, Server, Peer };
inline constexpr Role kLastRole = Role::Peer;

/// Coordinates of a node or variable, bound to devices after all rewrites. Each rewrite sets its
/// own coordinate and leaves the others alone.
struct Place {
  int replica = 0;  ///< data parallelism; at a server or a peer: the replica whose loop runs there
  int stage = 0;  ///< model parallelism; at a server: the server's number; at a peer: the number of
                  ///< the peer's replica
  int shard = 0;  ///< tensor parallelism
  Role role = Role::Worker;
  bool operator==(const Place&) const = default;
  auto operator<=>(const Place&) const = default;
};

/// Returns text such as `replica0`, `replica1.stage2`, `replica0.shard1`, `replica1.stage2.shard1`,
/// `host`, `server0`, `server1.replica2`, `peer1.replica2` (the loop of replica 2 at replica 1).
std::string to_string(const Place& place);

using NodeId = int;
using VariableId = int;

/// One output of one node. A default-constructed Value refers to no node.
struct Value {
  NodeId node = -1;
  int output = 0;
  bool exists() const { return node >= 0; }
  bool operator==(const Value&) const = default;
  auto operator<=>(const Value&) const = default;
};

/// The part of a step that a node belongs to; reports split time by phase.
enum class Phase : std::uint8_t { Input, Forward, Backward, Communication, Update };
std::string_view to_string(Phase phase);

struct Node {
  Op op = Op::Read;
  Attributes attributes;
  std::vector<Value> inputs;
  std::vector<VariableId> variables;  ///< the variables that the op reads or assigns
                                      ///< (OpInfo::assigns)
  std::vector<TensorType> outputs;    ///< types of the outputs
  Place place;
  std::int64_t member = 0;  ///< index among the members of a collective or a quorum
  Phase phase = Phase::Forward;
  std::string layer;  ///< layer of the model; backward and update nodes have their forward node's
};

}  // namespace regatta
