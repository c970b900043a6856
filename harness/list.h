// SPDX-License-Identifier: Apache-2.0
//
// `regatta list` and `regatta graph`: what can race, and what a strategy makes of a workload.
#pragma once

#include <iosfwd>
#include <string>

#include "harness/command_line.h"

namespace regatta {

/// `what`: workloads, strategies, tiers, devices, or empty for all.
void list(std::ostream& out, const std::string& what, ListFormat format);

/// The placed and partitioned graph as text, which ends with bytes and messages by place, as DOT,
/// or as traces of Chakra in a folder. Throws: RunError.
void show_graph(std::ostream& out, const Command& command);

}  // namespace regatta
