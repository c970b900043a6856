// SPDX-License-Identifier: Apache-2.0
//
// The program around its commands: catches all errors and turns them into exit codes: 1 usage or
// configuration, 2 a run that failed, 3 a cell that regressed, 4 nothing or too little to compare,
// 5 a record that could not be written.
#pragma once

#include <functional>

#include "harness/cli/command_line.h"

namespace regatta::cli {

/// Parses the arguments and executes the command. In a helper process that this program started for
/// itself (a keeper or a measuring rank), does that process's work instead. Returns the exit code.
int run_regatta(int argc, char** argv, const std::function<int(const Command&)>& execute);

}  // namespace regatta::cli
