// SPDX-License-Identifier: Apache-2.0
//
// `regatta list` prints the workloads, strategies, tiers and devices; `regatta graph` prints the
// graph that a strategy makes of a workload.
#pragma once

#include <iosfwd>
#include <string>

#include "harness/cli/command_line.h"

namespace regatta::cli {

/// Prints the list `what`: workloads, strategies, tiers or devices; all if it is empty.
void list(std::ostream& out, const std::string& what, ListFormat format);

/// Prints the placed and partitioned graph as text, with the bytes and messages of each place, or
/// in DOT; or writes it as Chakra execution traces to a folder. Throws: RunError.
void show_graph(std::ostream& out, const Command& command);

}  // namespace regatta::cli
