// SPDX-License-Identifier: Apache-2.0
//
// `regatta run`: races, as a rank too, or a run in virtual time; each makes a record.
#pragma once

#include <string>

#include "harness/command_line.h"

namespace regatta {

/// Exit codes of commands without verdicts.
inline constexpr int kGood = 0;
inline constexpr int kUsage = 1;
inline constexpr int kRunFailed = 2;

/// Runs each seed. A failed run leaves a record, and the next seeds follow unless the job is about
/// to end. Returns the exit code. Throws: RunError if nothing could begin, NotKept.
int run_command(const Command& command);

/// Throws: RunError(Usage) if mpirun or srun has started several processes.
void require_alone(const std::string& because);

}  // namespace regatta
