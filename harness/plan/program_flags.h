// SPDX-License-Identifier: Apache-2.0
//
// Declares the flags of `regatta run` by which another program races (--program), and checks them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "harness/plan/race_request.h"

namespace regatta::plan {

/// Declares the flags of programs, after those of own runs. Parsing sets `strategy` of a program's
/// request to the contestant's name and `workload` to that of its task, and throws RunError(Usage)
/// for flags that do not go together. `request` must outlive parsing.
void declare_program(CLI::App& app, RaceRequest& request);

/// Returns the name of a contestant: `pytorch all_reduce`, or `train` if only a command with
/// train.py is known.
std::string contestant_name(const ProgramRequest& program);

}  // namespace regatta::plan
