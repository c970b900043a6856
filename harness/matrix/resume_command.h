// SPDX-License-Identifier: Apache-2.0
//
// The command lines that continue a matrix that ended before its last run.
#pragma once

#include <optional>
#include <string>

#include "harness/matrix/matrix.h"

namespace regatta {

/// Formats the command. `within`: the time for the remaining runs; empty: unlimited.
std::string resume_command(const MatrixRequest& request, const std::optional<std::string>& within);

/// Formats the command that lists the cells, and the number of runs of each.
std::string dry_run_command(const MatrixRequest& request);

}  // namespace regatta
