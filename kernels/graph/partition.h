// SPDX-License-Identifier: Apache-2.0
//
// Cuts a placed graph into one graph for each process, whose nodes say until when they matter
// (expiry.h; what travels goes on for ever, so that both sides agree). Only partition() inserts
// communication: a copy at the reader's place between places of one process, a send and a receive
// between processes. Averages with replicas of other processes become nodes at both before that
// (averages_between.h). messages.h says which values travel together, message_sums.h which are
// summed on arrival. A value travels once to each place that reads it.
//
// To and from servers a send is over when its values may be overwritten. Between other places it
// only begins there, and a sent ends it: before the next assignment of a variable that it reads,
// otherwise when the step ends. So no process waits, where it sends, for what another receives
// later in the order of the whole graph, and lanes that keep that order cannot deadlock. Members of
// a collective remain separate nodes; when they span processes, the attribute `processes` lists the
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
  /// Values that may travel together form one message up to this size. Units: bytes.
  std::int64_t message_bytes = 4 * 1024 * 1024;
  /// Whether what is sent to the place may be added up as it comes (message_sums.h): where the host
  /// computes.
  std::function<bool(const Place&)> adds_messages = [](const Place&) { return true; };
};

/// The part of each process, in process order. A part has the trainables and losses of its own
/// places, and the loops that it takes part in (Partition). All users of a shared variable must be
/// in one process, but for averages (averages_between.h).
std::vector<Step> partition(const Step& step, const Binding& binding);

/// The place that a copy or a receive takes its value from.
Place sender_of(const Node& node);
/// The place that a send delivers to.
Place receiver_of(const Node& node);
/// Whether a send, sent or receive is of a message to or from a server.
bool is_of_server(const Node& node);

}  // namespace regatta
