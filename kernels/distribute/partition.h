// SPDX-License-Identifier: Apache-2.0
//
// Cuts a placed graph into one graph per process, and marks each node with its expiry (expiry.h);
// values that are sent between places never expire, so that sender and receiver agree. Only
// partition() inserts communication: a copy at the reader's place between places of one process, a
// send and a receive between processes. messages.h decides which values share a message,
// message_sums.h which are summed on arrival. A value is sent once to each place that reads it.
//
// A send to or from a server returns when its values may be overwritten. Between other places, a
// send only begins the transfer, and a `sent` node waits for its end: before the next assignment of
// a variable that the send reads, otherwise at the end of the step. So no sender waits for a
// receive that comes later in the order of the whole graph, and lanes that run nodes in that order
// cannot deadlock. Members of a collective remain separate nodes; if they span processes, the
// attribute `processes` lists the process of each member.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta {

/// Binds places to processes, numbered 0 to processes - 1.
struct Binding {
  int processes = 1;
  std::function<int(const Place&)> process_of = [](const Place&) { return 0; };
  /// Limit on the size of a message that combines several values. Units: bytes.
  std::int64_t message_bytes = 4 * 1024 * 1024;
  /// Whether messages to a place may be summed as they arrive (message_sums.h): true if the CPU
  /// computes at that place.
  std::function<bool(const Place&)> adds_messages = [](const Place&) { return true; };
};

/// Returns the steps of all processes; element p is the step of process p. It has the trainables
/// and losses of its own places, and the loops in which the process takes part (Partition). All
/// users of a shared variable must be in one process (averages_between.h).
std::vector<Step> partition(const Step& step, const Binding& binding);

/// Returns the place from which a copy or a receive gets its value.
Place sender_of(const Node& node);
/// Returns the place to which a send sends its values.
Place receiver_of(const Node& node);
/// Whether a `send`, `sent` or `receive` node belongs to a message to or from a server.
bool is_of_server(const Node& node);

}  // namespace regatta
