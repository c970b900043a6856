// SPDX-License-Identifier: Apache-2.0
//
// Cuts a placed graph into one graph for each process. The only code that makes values travel:
// between places of one process by a copy node at the reader's place, between processes by a send
// and a receive (messages.h says what travels together, message_sums.h what is added up as it
// arrives). A value travels once to each place that reads it. Members of a collective stay nodes of
// their own; where they live in several processes each is told which (`processes`, by member).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta {

/// Which process a place is bound to, 0 to processes - 1.
struct Binding {
  int processes = 1;
  std::function<int(const Place&)> process_of = [](const Place&) { return 0; };
  /// Values that may travel together do so until a message holds as much. Units: bytes.
  std::int64_t message_bytes = 4 * 1024 * 1024;
};

/// The part of each process, in process order. A part's trainables and losses are those that stand
/// in it; each is told of its loops (Partition). A variable that is shared must have all its users
/// in one process.
std::vector<Step> partition(const Step& step, const Binding& binding);

/// The place whose value a copy or a receive takes.
Place sender_of(const Node& node);
/// The place that takes what a send carries.
Place receiver_of(const Node& node);

}  // namespace regatta
