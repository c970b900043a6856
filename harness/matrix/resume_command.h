// SPDX-License-Identifier: Apache-2.0
//
// Formats the command lines that continue a matrix which ended before its last run.
#pragma once

#include <optional>
#include <string>

#include "harness/matrix/matrix.h"

namespace regatta::matrix {

/// Formats the command that performs the missing runs. `within` is their time limit; empty: none.
std::string resume_command(const MatrixRequest& request, const std::optional<std::string>& within);

}  // namespace regatta::matrix
