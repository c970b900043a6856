// SPDX-License-Identifier: Apache-2.0
//
// `regatta list` and `regatta graph`: everything that can race, and the graph that a strategy makes
// of a workload.
#pragma once

#include <iosfwd>
#include <string>

#include "harness/command_line.h"

namespace regatta {

/// `what`: workloads, strategies, tiers, devices, or empty for all.
void list(std::ostream& out, const std::string& what, ListFormat format);

/// Prints the placed and partitioned graph as text with bytes and messages by place, or as DOT, or
/// writes it as traces of Chakra to a folder. Throws: RunError.
void show_graph(std::ostream& out, const Command& command);

}  // namespace regatta
