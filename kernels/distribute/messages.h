// SPDX-License-Identifier: Apache-2.0
//
// The values of a placed graph that are sent from one process to another, and their grouping into
// messages. partition() turns each message into a send and a receive.
//
// Values share a message only where this cannot deadlock: values of a server's variables at the
// beginning of a step (a pull) and values sent to a server (a push). Neither can deadlock, because
// no server sends a value that depends on a value it receives in the same step.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/distribute/partition.h"
#include "kernels/graph/period.h"

namespace regatta {

/// Messages smaller than this are sent by the computing thread itself, because handing a message to
/// another thread costs about 10 us. Units: bytes.
inline constexpr std::int64_t kInlineBytes = 64 * 1024;

struct Message {
  Place from;
  Place to;
  std::vector<Value> values;  ///< values of the placed graph, ordered by where the receiving place
                              ///< first reads them
  Period period;              ///< the steps in which the message is sent

  bool of_server() const { return from.role == Role::Server || to.role == Role::Server; }
};

/// Returns all messages. A message's index is its number; it is the same in every process that has
/// this graph and binding.
std::vector<Message> messages(const Graph& graph, const Binding& binding);

}  // namespace regatta
