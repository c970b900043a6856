// SPDX-License-Identifier: Apache-2.0
//
// Cuts a placed graph into one graph for each process, and marks each node with its expiry
// (expiry.h); values that travel never expire, so that both sides agree. Only partition() inserts
// communication: a copy at the reader's place between places of one process, a send and a receive
// between processes. averages_between.h turns averages with replicas of other processes into nodes
// at both beforehand. messages.h decides which values travel together, message_sums.h which are
// summed on arrival. A value travels once to each place that reads it.
//
// To and from servers, a send returns when its values may be overwritten. Between other places it
// only begins the transfer, and a `sent` node ends it: before the next assignment of a variable
// that it reads, otherwise at the end of the step. So no sender waits for a receive that comes
// later in the order of the whole graph, and lanes that keep that order cannot deadlock. Members of
// a collective remain separate nodes; if they span processes, the attribute `processes` lists the
// process of each member.
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
  /// Values that may travel together form one message of at most this size. Units: bytes.
  std::int64_t message_bytes = 4 * 1024 * 1024;
  /// Whether messages to the place may be added up as they arrive (message_sums.h); true if the
  /// host computes there.
  std::function<bool(const Place&)> adds_messages = [](const Place&) { return true; };
};

/// Returns the part of each process, in process order. A part has the trainables and losses of its
/// own places, and the loops that it takes part in (Partition). All users of a shared variable must
/// be in one process, except averages (averages_between.h).
std::vector<Step> partition(const Step& step, const Binding& binding);

/// The place that a copy or a receive takes its value from.
Place sender_of(const Node& node);
/// The place that a send delivers to.
Place receiver_of(const Node& node);
/// Whether a send, sent or receive carries a message to or from a server.
bool is_of_server(const Node& node);

}  // namespace regatta
