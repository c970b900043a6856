// SPDX-License-Identifier: Apache-2.0
//
// The flags that say which race is run: those of `regatta run`, some of which `graph` has, too, and
// a matrix file names as its keys.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "harness/command_line.h"

namespace regatta {

/// What says which race: shared by run and graph. The request outlives parsing.
void declare_cell(CLI::App& app, RaceRequest& request);

/// All flags of run; `stragglers` as they are given.
void declare_run(CLI::App& app, Command& command, std::string& stragglers);

}  // namespace regatta
