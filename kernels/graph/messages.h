// SPDX-License-Identifier: Apache-2.0
//
// Which values of a placed graph cross from one process to another, and which of them travel
// together. partition() turns each message into a send and a receive.
//
// Values travel together only where this cannot deadlock: variables of a server as the step begins
// (a pull) and values that go to a server (a push), because within a step no server sends a value
// that depends on values it receives in that step.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/graph/partition.h"
#include "kernels/graph/period.h"

namespace regatta {

/// A message of fewer bytes is sent by the computing thread: handing it over costs about 10 us.
inline constexpr std::int64_t kInlineBytes = 64 * 1024;

struct Message {
  Place from;
  Place to;
  std::vector<Value> values;  ///< of the placed graph, in the order in which they are first read
  Period period;              ///< of all of them

  bool of_server() const { return from.role == Role::Server || to.role == Role::Server; }
};

/// Returns all messages; a position is the message's number, the same in every process with this
/// graph and binding.
std::vector<Message> messages(const Graph& graph, const Binding& binding);

}  // namespace regatta
