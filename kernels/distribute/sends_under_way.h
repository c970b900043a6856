// SPDX-License-Identifier: Apache-2.0
//
// Tracks, for partition(), the sends that may still be reading their values while the nodes of a
// graph are visited from first to last. A send must end before a variable that it reads is
// assigned. If there is no such assignment, it ends with the step or, to free the memory of large
// values, once they are received.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/graph/period.h"

namespace regatta {

/// The sends whose end one `sent` node awaits: their values, which belong to one place, loop and
/// period, and the numbers of their messages.
struct SendsToEnd {
  std::vector<Value> values;
  std::vector<std::int64_t> messages;  ///< ascending
  Period period;
};

class SendsUnderWay {
 public:
  explicit SendsUnderWay(const Graph& graph) : graph_(graph) {}

  void begin(Value value, std::int64_t message, const Period& period);
  /// Removes and returns the sends that read a variable which the node assigns.
  std::vector<SendsToEnd> end_before(const Node& node);
  /// Records that `message` has been received when the visit reaches this point.
  void received(Value value, std::int64_t message, const Period& period);
  /// Removes and returns the received sends from `place` whose values have at least kInlineBytes
  /// and are not views of variables.
  std::vector<SendsToEnd> end_received(const Place& place);
  /// Removes and returns all other sends, for the end of the step. `loop_of[n]` is the loop of node
  /// n.
  std::vector<SendsToEnd> end_all(const std::vector<int>& loop_of);

 private:
  using Messages = std::vector<std::int64_t>;

  const Graph& graph_;
  /// Keyed by the variable that the value is a view of; -1 if the value is not a view of a
  /// variable.
  std::map<VariableId, std::map<std::pair<Value, Period>, Messages>> all_;
  std::map<Place, std::vector<SendsToEnd>> received_;  ///< keyed by the sending place
};

}  // namespace regatta
