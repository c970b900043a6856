// SPDX-License-Identifier: Apache-2.0
//
// What `regatta run` does: races, in a rank too, or a run in virtual time, each a record.
#pragma once

#include <string>

#include "harness/command_line.h"

namespace regatta {

/// Exit codes of commands that no verdict decides.
inline constexpr int kGood = 0;
inline constexpr int kUsage = 1;
inline constexpr int kRunFailed = 2;

/// A run that has failed is a record, and those of other seeds follow it, unless they cannot.
/// Returns the exit code. Throws: RunError where nothing could begin, NotKept.
int run_command(const Command& command);

/// Throws: RunError(Usage) where mpirun or srun has started several processes.
void require_alone(const std::string& because);

}  // namespace regatta
