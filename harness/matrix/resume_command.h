// SPDX-License-Identifier: Apache-2.0
//
// Formats the command lines that continue a matrix which ended before its last run.
#pragma once

#include <optional>
#include <string>

#include "harness/matrix/matrix.h"
#include "harness/matrix/matrix_plan.h"

namespace regatta::matrix {

/// Formats the command that performs the missing runs. `within` is their time limit; empty: none.
std::string resume_command(const MatrixRequest& request, const std::optional<std::string>& within);

/// Formats the command that races on with more seeds until it is decided who is first; empty if the
/// plan has all seeds of such a race, or a workload with one cell, which --decide refuses.
std::string decide_command(MatrixRequest request, const MatrixPlan& plan);

}  // namespace regatta::matrix
