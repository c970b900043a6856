// SPDX-License-Identifier: Apache-2.0
//
// What to type to go on with a matrix that ended before its last run.
#pragma once

#include <optional>
#include <string>

#include "harness/matrix/matrix.h"

namespace regatta {

/// `within`: the time for what is left; empty: as long as it takes.
std::string resume_command(const MatrixRequest& request, const std::optional<std::string>& within);

/// Lists the cells, and how many runs each has.
std::string dry_run_command(const MatrixRequest& request);

}  // namespace regatta
