// SPDX-License-Identifier: Apache-2.0
//
// The program around its commands. Every error ends here, as an exit code: 1 usage or
// configuration, 2 a run that failed, 3 a cell that regressed, 4 nothing or too little to compare,
// 5 a record that could not be written.
#pragma once

#include <functional>

#include "harness/command_line.h"

namespace regatta {

/// Executes the command in the arguments, or serves another process of the program, if that started
/// this one. Returns the exit code.
int run_regatta(int argc, char** argv, const std::function<int(const Command&)>& execute);

}  // namespace regatta
