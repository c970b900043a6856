// SPDX-License-Identifier: Apache-2.0
//
// The built-in matrices: the tiers race `single` and every strategy with several workers; the tier
// `claims` decides the claims of claims.h on two cores.
#pragma once

#include <string>
#include <vector>

#include "harness/matrix/matrix_plan.h"

namespace regatta {

/// In the order of their length.
std::vector<std::string> tier_names();

/// What it is for. `name`: one of tier_names().
std::string tier_summary(const std::string& name);

/// As TOML. Throws: RunError(Usage) that lists the tiers.
std::string tier_text(const std::string& name);

/// Throws: as tier_text() does.
MatrixPlan tier_plan(const std::string& name);

/// `[[tune]]` as TOML, for --tune: learning rates for strategies that deal with them in ways of
/// their own. The synchronous ones compute what `single` does, for which a workload's rate was
/// chosen.
extern const char* const kTuneText;

}  // namespace regatta
