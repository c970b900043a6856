// SPDX-License-Identifier: Apache-2.0
//
// Formats one node of a Chakra trace (chakra.h) as bytes of its file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta::chakra {

/// A node's number in its file, from 1.
using Id = std::uint64_t;

/// Numbers sets of processes, alike in all files; 0 is all processes.
class Groups {
 public:
  explicit Groups(std::size_t processes);

  std::size_t number(const std::vector<std::int64_t>& processes);
  /// The format that ASTRA-sim reads; empty if only the set of all processes has a number.
  std::string to_json() const;

 private:
  std::map<std::vector<std::int64_t>, std::size_t> numbers_;
};

/// The facts of a node that its own graph lacks.
struct NodeFacts {
  Id id = 0;
  std::vector<Id> ctrl_deps;
  std::vector<Id> data_deps;
  std::optional<std::int64_t> duration_micros;  ///< of a kernel
  std::int64_t process = 0;
  std::int64_t first_tag = 0;  ///< of this step's messages
};

/// The first message of a file.
std::string metadata_bytes();

std::string node_bytes(const Graph& graph, NodeId node, const NodeFacts& facts, Groups& groups);

}  // namespace regatta::chakra
