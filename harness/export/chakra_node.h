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

namespace regatta::exports::chakra {

/// The number of a node in its file, counted from 1.
using Id = std::uint64_t;

/// Assigns a number to each set of processes, the same in all files. The set of all processes has
/// number 0.
class Groups {
 public:
  explicit Groups(std::size_t processes);

  /// Returns the number of the set; a new set gets the next number.
  std::size_t number(const std::vector<std::int64_t>& processes);
  /// Formats the sets as ASTRA-sim reads them; empty if the only set is that of all processes.
  std::string to_json() const;

 private:
  std::map<std::vector<std::int64_t>, std::size_t> numbers_;
};

/// Facts for a node of a trace that the graph's node does not contain.
struct NodeFacts {
  Id id = 0;
  std::vector<Id> ctrl_deps;
  std::vector<Id> data_deps;
  std::optional<std::int64_t> duration_micros;  ///< duration of a kernel; empty: unknown
  std::int64_t process = 0;                     ///< the process whose trace has the node
  std::int64_t first_tag = 0;                   ///< the first comm_tag of this step
};

/// Formats GlobalMetadata, the first message of a file, with its length.
std::string metadata_bytes();

/// Formats a node of the graph as a Node message, with its length.
std::string node_bytes(const Graph& graph, NodeId node, const NodeFacts& facts, Groups& groups);

}  // namespace regatta::exports::chakra
