// SPDX-License-Identifier: Apache-2.0
//
// The built-in matrices: the tiers race `single` and every strategy with several workers; the tier
// `claims` decides the claims of claims.h on two cores.
#pragma once

#include <string>
#include <vector>

#include "harness/matrix/matrix_plan.h"

namespace regatta {

/// The names of the tiers, the shortest first.
std::vector<std::string> tier_names();

/// The purpose of a tier. `name`: one of tier_names().
std::string tier_summary(const std::string& name);

/// The tier as TOML. Throws: RunError(Usage) that lists the tiers.
std::string tier_text(const std::string& name);

/// The plan of a tier. Throws: like tier_text().
MatrixPlan tier_plan(const std::string& name);

/// `[[tune]]` as TOML, for --tune: learning rates for strategies that respond to them in their own
/// ways. It omits strategies that compute the same as `single`, for which a workload's rate was
/// chosen.
extern const char* const kTuneText;

}  // namespace regatta
