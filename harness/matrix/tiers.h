// SPDX-License-Identifier: Apache-2.0
//
// Defines the built-in matrices, called tiers. They race `single` and every strategy with several
// workers; the tier `claims` has the runs that decide, on two cores, the claims of
// harness/judge/claims.h.
#pragma once

#include <string>
#include <vector>

#include "harness/matrix/matrix_plan.h"

namespace regatta::matrix {

/// Returns the names of the tiers, the shortest matrix first.
std::vector<std::string> tier_names();

/// Describes the purpose of a tier. `name` must be one of tier_names().
std::string tier_summary(const std::string& name);

/// Returns the plan of a tier as TOML. Throws: RunError(Usage) for an unknown name; the text lists
/// the tiers.
std::string tier_text(const std::string& name);

/// Returns the plan of a tier. Throws: like tier_text().
MatrixPlan tier_plan(const std::string& name);

/// The [[tune]] blocks that --tune adds, as TOML: learning rates to try for strategies whose best
/// rate differs from that of `single`. Strategies that compute the same as `single` are not tuned,
/// because the workload's learning rate suits them.
extern const char* const kTuneText;

}  // namespace regatta::matrix
