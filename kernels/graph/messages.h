// SPDX-License-Identifier: Apache-2.0
//
// Which values of a placed graph cross from one process to another, and which of them travel
// together. partition() turns each message into a send and a receive.
//
// Values travel together only where no waiting in a circle can come of it: those that a server's
// variables hold when the step begins (a pull), and those that go to a server (a push), because no
// server sends anything in a step that depends on what it received in it.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/graph/partition.h"

namespace regatta {

struct Message {
  Place from;
  Place to;
  std::vector<Value> values;  ///< of the placed graph, in the order in which they are first read
};

/// Numbered by position, the same in every process that has the same graph and binding.
std::vector<Message> messages(const Graph& graph, const Binding& binding);

}  // namespace regatta
