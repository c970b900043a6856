// SPDX-License-Identifier: Apache-2.0
//
// `regatta run`: runs races, in real or in virtual time, and writes their records. A rank of a run
// also executes this command.
#pragma once

#include <string>

#include "harness/cli/command_line.h"

namespace regatta::cli {

/// Exit codes of commands that pass no verdict on results.
inline constexpr int kGood = 0;
inline constexpr int kUsage = 1;
inline constexpr int kRunFailed = 2;

/// Runs one race per seed. A failed run is recorded too, and the next seeds follow unless the Slurm
/// job is about to end. Returns the exit code. Throws: RunError if a run cannot begin, NotKept if a
/// record cannot be written.
int run_command(const Command& command);

/// Checks that mpirun or srun has not started several processes. Throws: RunError(Usage) with the
/// reason `because`.
void require_alone(const std::string& because);

}  // namespace regatta::cli
