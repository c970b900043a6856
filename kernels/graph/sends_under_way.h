// SPDX-License-Identifier: Apache-2.0
//
// The sends of a graph that may still read their values, as its nodes are visited from first to
// last, and the points at which they have to end: before a variable that they read is assigned,
// otherwise when the step ends, or on receipt if the memory of the value is wanted sooner. For
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
/// in the same steps.
struct SendsToEnd {
  std::vector<Value> values;
  std::vector<std::int64_t> messages;  ///< ascending
  Period period;
};

class SendsUnderWay {
 public:
  explicit SendsUnderWay(const Graph& graph) : graph_(graph) {}

  void begin(Value value, std::int64_t message, const Period& period);
  /// Ends the sends that read variables which the node assigns.
  std::vector<SendsToEnd> end_before(const Node& node);
  /// Records that the message is received at this point of the order.
  void received(Value value, std::int64_t message, const Period& period);
  /// Ends the received sends of `place` with values large enough that their memory is needed.
  std::vector<SendsToEnd> end_received(const Place& place);
  /// Ends the rest, when the step ends. `loop_of`: by node.
  std::vector<SendsToEnd> end_all(const std::vector<int>& loop_of);

 private:
  using Messages = std::vector<std::int64_t>;

  const Graph& graph_;
  /// by the variable that the value is a view of; -1 if it is none
  std::map<VariableId, std::map<std::pair<Value, Period>, Messages>> all_;
  std::map<Place, std::vector<SendsToEnd>> received_;  ///< by sender
};

}  // namespace regatta
