// SPDX-License-Identifier: Apache-2.0
//
// Which sends of a graph, as it is run from its first node to its last, may still read their
// values, and where they have to end: before a variable that they read is assigned, otherwise when
// the step ends or, where the memory of the value is wanted before, when it has been received. For
// partition().
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/graph/period.h"

namespace regatta {

/// Sends that end together: values of one place and loop, and the messages that they travel in, all
/// of them in the same steps.
struct SendsToEnd {
  std::vector<Value> values;
  std::vector<std::int64_t> messages;  ///< ascending
  Period period;
};

class SendsUnderWay {
 public:
  explicit SendsUnderWay(const Graph& graph) : graph_(graph) {}

  void begin(Value value, std::int64_t message, const Period& period);
  /// Before the node assigns its variables.
  std::vector<SendsToEnd> end_before(const Node& node);
  /// The message is taken from here on.
  void received(Value value, std::int64_t message, const Period& period);
  /// Those of `place` that have been received, of values large enough that their memory is wanted.
  std::vector<SendsToEnd> end_received(const Place& place);
  /// When the step ends; `loop_of`: by node.
  std::vector<SendsToEnd> end_all(const std::vector<int>& loop_of);

 private:
  using Messages = std::vector<std::int64_t>;

  const Graph& graph_;
  /// By the variable behind; -1: none.
  std::map<VariableId, std::map<std::pair<Value, Period>, Messages>> all_;
  std::map<Place, std::vector<SendsToEnd>> received_;  ///< by sender
};

}  // namespace regatta
