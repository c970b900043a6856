// SPDX-License-Identifier: Apache-2.0
//
// What a trace of Chakra (chakra.h) says of one node, as bytes of its file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta::chakra {

/// Of a node in its file, from 1.
using Id = std::uint64_t;

/// Numbers of sets of processes, the same in all files; 0 is all processes.
class Groups {
 public:
  explicit Groups(std::size_t processes);

  std::size_t number(const std::vector<std::int64_t>& processes);
  /// As ASTRA-sim reads them; empty where there is none but that of all processes.
  std::string to_json() const;

 private:
  std::map<std::vector<std::int64_t>, std::size_t> numbers_;
};

/// What the node's own graph does not say.
struct NodeFacts {
  Id id = 0;
  std::vector<Id> ctrl_deps;
  std::vector<Id> data_deps;
  std::optional<std::int64_t> duration_micros;  ///< of a kernel
  std::int64_t process = 0;
  std::int64_t first_tag = 0;  ///< of the step's messages
};

/// The first message of a file.
std::string metadata_bytes();

std::string node_bytes(const Graph& graph, NodeId node, const NodeFacts& facts, Groups& groups);

}  // namespace regatta::chakra
